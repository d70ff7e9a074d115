"""Checkpoints: one folder each, written by all ranks."""
