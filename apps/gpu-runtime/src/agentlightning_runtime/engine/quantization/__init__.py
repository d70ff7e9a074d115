"""Weights in four bits and moments in eight, by bitsandbytes."""
