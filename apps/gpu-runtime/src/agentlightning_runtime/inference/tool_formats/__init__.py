"""Tool call formats of models: one file per format, listed in the registry."""
