"""Collections at LAMB knowledge-base servers."""
