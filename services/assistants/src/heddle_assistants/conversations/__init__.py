"""The conversations and responses of people."""
