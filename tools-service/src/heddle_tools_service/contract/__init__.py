"""Converts between the messages of the tool contract and the types of the SDK."""
