"""Compares the answers of an assistant with what is expected of them."""
