"""What engine, inference and service agree on; imports no torch."""
