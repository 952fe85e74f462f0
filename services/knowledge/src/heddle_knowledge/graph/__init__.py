"""The graph of the names that documents mention: who stands beside whom, and where.

`extraction` finds names in a process of its own. `parts` stores what was found, document by
document. `entity_graph` makes a network of it, and `entity_graph_worker` answers in another
process. `graphs` is the way in.
"""
