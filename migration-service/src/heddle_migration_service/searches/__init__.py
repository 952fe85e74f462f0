"""Searches of collections at LAMB's servers, for the knowledge service."""
