"""An SQL database: SQLite in a file, or PostgreSQL by URL.

`engine.open_database` opens it, `upgrading.upgrade` brings the tables of a member to its version,
which a `schema.Schema` describes. Nothing above this package knows which database it speaks to.
"""
