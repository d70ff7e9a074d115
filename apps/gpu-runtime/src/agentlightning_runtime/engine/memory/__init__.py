"""Memory of the device: micro-batch size, detection of exhaustion, and the vote that ends a pass on all ranks."""
