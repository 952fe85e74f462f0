"""Searches of the web: one file for each provider, and whose key opens which."""
