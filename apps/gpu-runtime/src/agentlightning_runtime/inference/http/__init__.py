"""The HTTP server of the endpoint: routes, keys, limits, errors."""
