"""What no GPU has run yet: weights in shards over several GPUs, weights in four bits, moments in eight."""
