"""Determines how much memory a parser may use."""

MEMORY_VARIABLE = "KNOWLEDGE_PARSER_MEMORY_BYTES"
"""The variable in the environment of the process that holds the number of bytes."""
DEFAULT_MEMORY_BYTES = 1024**3
