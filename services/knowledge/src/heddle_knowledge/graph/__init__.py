"""The graph of the names that documents mention: who stands beside whom, and where.

`extraction` finds names in a process of its own, `parts` keeps what was found document by
document, `network` makes a graph of it and answers in another process, `graphs` is the way in.
"""
