"""Token losses, value loss and their metrics."""
