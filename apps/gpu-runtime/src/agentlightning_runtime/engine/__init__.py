"""The training engine: models, losses, optimiser, checkpoints."""
