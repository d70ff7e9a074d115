"""Requests and responses of the OpenAI-compatible endpoint."""
