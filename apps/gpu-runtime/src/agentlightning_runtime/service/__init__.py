"""The gRPC service: sessions, order, resending, validation, results."""
