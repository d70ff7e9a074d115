"""Checks whether a machine can train, with a remedy for each problem."""
