"""Memory of the device: the size of micro-batches, and what happens when it runs out."""
