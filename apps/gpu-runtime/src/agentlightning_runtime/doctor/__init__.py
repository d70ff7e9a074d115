"""Says whether a machine can train, and what to do where it cannot."""
