"""The interfaces of LAMB's frontend and command."""
