"""Searches of the web: one module for each provider, and the keys that each may use."""
