"""Events of erased persons, and which earlier versions work with the tables."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.failures import UnusableDatabaseError

revision = "0012"
down_revision = "0011"
oldest_compatible = "0011"
"""Processes of that version work with the tables of this one."""


def upgrade() -> None:
    """Create the column and the table."""
    column = sa.Column("erased_digest", sa.Text, nullable=False, server_default="")
    op.add_column("audit_events", column)
    op.create_table(
        "schema_compatibility",
        sa.Column("oldest_revision", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("oldest_revision", name="pk_schema_compatibility"),
    )


def downgrade() -> None:
    """Drop them.

    Raises:
        UnusableDatabaseError: A person was erased: the earlier version would call events changed.
    """
    events = sa.table("audit_events", sa.column("erased_digest"))
    query = sa.select(sa.func.count()).where(events.c.erased_digest != "")
    if op.get_bind().scalar(query):
        raise UnusableDatabaseError(
            "persons were erased since the upgrade, and the earlier version would report their "
            "events as changed"
        )
    op.drop_table("schema_compatibility")
    op.drop_column("audit_events", "erased_digest")
