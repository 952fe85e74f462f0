"""Adds the table of prompts."""

import sqlalchemy as sa
from alembic import op
from heddle_runtime.storage.database.columns import Identifier, Seconds
from heddle_runtime.storage.database.failures import UnusableDatabaseError

revision = "0002"
down_revision = "0001"
oldest_compatible = "0001"


def upgrade() -> None:
    """Create it."""
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
    """Drop it, unless a prompt is stored."""
    if op.get_bind().scalar(sa.text("SELECT count(*) FROM prompts")):
        raise UnusableDatabaseError("prompts were saved since the upgrade")
    op.drop_table("prompts")
