"""Mutated answers of providers, in the form of each API."""
