"""What no GPU has run yet: parallelism of tensors and sequences, weights in four bits, moments in eight."""
