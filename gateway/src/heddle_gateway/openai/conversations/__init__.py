"""Conversations: their items, how turns are read and stored, and runs in the background."""
