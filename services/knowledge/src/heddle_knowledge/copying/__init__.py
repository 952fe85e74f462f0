"""Copies a whole knowledge store to another place, and compares both afterwards.

`copying` runs the parts in their order. Each part is a module of its own that satisfies
`interface.Part`: it names its items with a digest of each, and copies or deletes some of them.
"""
