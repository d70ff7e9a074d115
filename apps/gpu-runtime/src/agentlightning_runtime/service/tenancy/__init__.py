"""Several users and models on one runtime."""
