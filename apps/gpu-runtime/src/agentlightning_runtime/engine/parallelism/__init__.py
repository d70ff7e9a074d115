"""Division of networks, batches and sequences over ranks."""
