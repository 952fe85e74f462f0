"""Stores the rows of collections in LanceDB (a folder or an object store) or in PostgreSQL.

`interface` says what the store needs of an engine, `conditions` how rows are chosen, `address`
opens the one that a setting names.
"""
