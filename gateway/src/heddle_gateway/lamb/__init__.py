"""The interfaces of LAMB's frontend, command and knowledge-base server."""
