"""Checks the definitions of tools: names, schemas, callbacks and the capabilities they request."""
