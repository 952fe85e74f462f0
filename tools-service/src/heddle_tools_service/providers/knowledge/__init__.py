"""Clients of the knowledge service, one for each interface that tools use."""
