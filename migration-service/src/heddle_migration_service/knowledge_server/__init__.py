"""The interface of LAMB's knowledge-base server."""
