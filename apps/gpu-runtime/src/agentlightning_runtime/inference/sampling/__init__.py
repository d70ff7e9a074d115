"""The built-in sampler: prompts to tokens."""
