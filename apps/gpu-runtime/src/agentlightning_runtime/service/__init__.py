"""The gRPC service: sessions, sequence, retries, validation, results."""
