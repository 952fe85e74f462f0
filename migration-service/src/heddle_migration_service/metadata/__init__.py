"""Metadata of assistants as LAMB's clients and LAMB's database have them."""
