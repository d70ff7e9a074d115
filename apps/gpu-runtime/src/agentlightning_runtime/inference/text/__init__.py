"""Messages and tools become tokens, and back."""
