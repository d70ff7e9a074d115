"""Training on several machines: the ranks are workers of Ray Train, and the front process has the endpoints."""
