"""Heddle's tools for clients of the Model Context Protocol."""
