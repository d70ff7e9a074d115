"""Base models, policy networks and tokenizers."""
