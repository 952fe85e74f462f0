"""Limits that several services check: of an assistant, and of the pages of lists."""

MAX_TOOLS = 64
"""Tools of one assistant."""
MAX_TOOL_ROUNDS = 50
"""Rounds of function calls, or decisions of the routing agent, in one run."""
MAX_PAGE_SIZE = 1000
"""Items of one page of a list."""
