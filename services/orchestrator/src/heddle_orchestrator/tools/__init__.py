"""Runs bound tools in the tools service."""
