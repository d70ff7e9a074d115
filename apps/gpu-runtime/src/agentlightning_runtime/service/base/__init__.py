"""Messages, errors and limits of the service."""
