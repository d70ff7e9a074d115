"""What every part of the engine shares: ranks, the device, sequences and how they are packed."""
