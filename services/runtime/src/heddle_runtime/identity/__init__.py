"""The identity of callers, and their permissions."""
