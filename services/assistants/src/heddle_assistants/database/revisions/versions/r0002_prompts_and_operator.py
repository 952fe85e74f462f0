"""Adds the table of prompts, and the account of the first operator."""

import sqlalchemy as sa
from alembic import op
from heddle_runtime.storage.database.columns import Identifier, Seconds
from heddle_runtime.storage.database.failures import UnusableDatabaseError

revision = "0002"
down_revision = "0001"
oldest_compatible = "0001"


def upgrade() -> None:
    """Create them."""
    op.add_column(
        "users", sa.Column("operator", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.create_table(
        "setup",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("completed_at", Seconds, nullable=False),
    )
    op.create_table(
        "prompts",
        sa.Column("id", Identifier, sa.Identity(always=False), primary_key=True),
        sa.Column("prompt_id", sa.Text, nullable=False, unique=True),
        sa.Column("organization_id", Identifier, sa.ForeignKey("organizations.id"), nullable=False),
        sa.Column("owner_email", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("system_prompt", sa.Text, nullable=False, server_default=""),
        sa.Column("prompt_template", sa.Text, nullable=False, server_default=""),
        sa.Column("is_public", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("created_at", Seconds, nullable=False),
        sa.Column("updated_at", Seconds, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(None, "prompts", ["organization_id", "id"])
    op.create_index(None, "prompts", ["owner_email", "id"])


def downgrade() -> None:
    """Drop them, unless a prompt is stored or an operator has made an account."""
    for table, done in (("prompts", "prompts were saved"), ("setup", "an operator was set up")):
        rows = sa.select(sa.func.count()).select_from(sa.table(table))
        if op.get_bind().scalar(rows):
            raise UnusableDatabaseError(f"{done} since the upgrade")
        op.drop_table(table)
    op.drop_column("users", "operator")
