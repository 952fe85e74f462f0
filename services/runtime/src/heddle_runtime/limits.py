"""Limits of an assistant, which every service that reads or runs one checks."""

MAX_TOOLS = 64
"""Tools of one assistant."""
MAX_TOOL_ROUNDS = 50
"""Rounds of function calls, or decisions of the routing agent, in one run."""
