"""The tables of the knowledge service beside its collections: SQLite in a file, or PostgreSQL."""
