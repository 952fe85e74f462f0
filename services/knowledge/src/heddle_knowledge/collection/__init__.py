"""A collection: its tables, passages, names and entry in the registry."""
