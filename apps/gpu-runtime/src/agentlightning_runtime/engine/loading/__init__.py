"""Base models read from their sources."""
