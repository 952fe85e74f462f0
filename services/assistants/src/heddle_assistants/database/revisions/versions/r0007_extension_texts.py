"""Adds the table of the texts of extensions."""

import sqlalchemy as sa
from alembic import op
from heddle_runtime.storage.database.columns import Seconds

revision = "0007"
down_revision = "0006"
oldest_compatible = "0001"


def upgrade() -> None:
    """Create it."""
    op.create_table(
        "extension_texts",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.Column("expires_at", Seconds),
    )
    op.create_index(None, "extension_texts", ["expires_at"])


def downgrade() -> None:
    """Drop it. Links of learning platforms are set up anew after that."""
    op.drop_table("extension_texts")
