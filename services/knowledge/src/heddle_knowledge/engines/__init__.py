"""What keeps the rows of collections: LanceDB in a folder or an object store, or PostgreSQL.

`interface` says what the store needs of an engine, `conditions` how rows are chosen, `address`
opens the one that a setting names.
"""
