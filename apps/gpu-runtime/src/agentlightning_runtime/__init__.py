"""The GPU training runtime of Agent Lightning for TypeScript."""

__version__ = "0.1.0"
