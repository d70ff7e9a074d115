"""Samplers that no GPU has run yet: they ran on CPUs and with scripted servers."""
