"""Where the engine spends its time."""
