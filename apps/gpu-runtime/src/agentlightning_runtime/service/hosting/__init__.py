"""Sessions, models, their operations and their order."""
