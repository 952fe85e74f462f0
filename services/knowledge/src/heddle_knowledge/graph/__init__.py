"""The graph of the names that documents mention: who stands beside whom, and where.

`extraction` finds names in a process of its own, `part_stores` keeps what was found document by
document, in files (`parts`) or for all replicas (`table_parts`), `entity_graph` makes a network of
it, `entity_graph_worker` answers in another process, and `graphs` is the way in.
"""
