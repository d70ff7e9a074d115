"""Publication of weights to the sampler, with a digest and a probe."""
