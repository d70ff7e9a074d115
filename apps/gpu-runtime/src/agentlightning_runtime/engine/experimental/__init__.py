"""What no GPU has run yet: training on several GPUs, base models in four bits, moments in eight."""
