"""Reads, migrates and changes the rows of assistants."""
