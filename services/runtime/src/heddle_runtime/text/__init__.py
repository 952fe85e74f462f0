"""Texts that others write: JSON and its schemas, patterns, names of hosts, e-mail addresses."""
