"""The graph of the names that documents mention: who stands beside whom, and where.

`extraction` finds names in a process of its own, `parts` keeps what was found document by
document, `entity_graph` makes a network of it, `entity_graph_worker` answers in another process,
and `graphs` is the way in.
"""
