"""Copies a whole knowledge store to another place, and compares both afterwards.

`copying` runs the parts in their order. Each part names its items with a digest of each, and writes
or deletes some of them; it reads and writes the rows of a backup.
"""
