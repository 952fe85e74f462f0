"""Run by Alembic for each command; `upgrading.py` hands it the connection."""

from alembic import context

from heddle_assistants.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters most things only by making the table anew
)
context.run_migrations()
