"""Serving by vLLM."""
