"""The SQL database: SQLite in a file, or PostgreSQL by URL.

`engine.open_database` is the way in, `upgrading.upgrade` brings the tables to this version,
`schema` names them. Nothing above this package knows which database it speaks to.
"""
