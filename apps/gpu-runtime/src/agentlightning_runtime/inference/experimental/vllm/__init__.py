"""Serving by vLLM, or by SGLang servers that run elsewhere."""
