"""Keeping a collection's files in order, in the background."""
