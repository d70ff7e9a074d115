"""Generated from packages/runtime/proto: do not edit."""
