"""Batches on their way from the client to the engine."""
