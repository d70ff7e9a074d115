"""What does the arithmetic: models, losses, optimiser, checkpoints."""
