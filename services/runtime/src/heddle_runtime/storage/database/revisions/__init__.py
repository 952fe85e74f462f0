"""Alembic's environment, for the revisions of all members that have a database."""
