"""Inserts rows of another installation under their ids.

`rows` runs a batch, `organizations` and `conflict_resolution` decide what becomes of each row.
"""
