"""Alembic runs this file for each command; `upgrading.py` passes the connection and the tables."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes["metadata"],
    render_as_batch=True,  # SQLite alters most things only by making the table anew
)
context.run_migrations()
