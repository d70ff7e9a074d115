"""How models write tool calls: one file a format, all of them in the registry."""
