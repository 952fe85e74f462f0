"""Following another installation, and notes of versions."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Identifier, Seconds

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Create the tables, and the column."""
    op.create_table(
        "following",
        sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("claimant", sa.Text, nullable=False, server_default=""),
        sa.Column("claimed_until", Seconds, nullable=False),
        sa.Column("compared_at", Seconds, nullable=True),
        sa.Column("changed_at", Seconds, nullable=True),
        sa.Column("problem", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("id", name="pk_following"),
    )
    op.create_table(
        "followed_rows",
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("row_id", Identifier, nullable=False, autoincrement=False),
        sa.Column("digest", sa.Text, nullable=False, server_default=""),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("noted_at", Seconds, nullable=True, index=True),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
        sa.Column("refusal", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("source", "row_id", name="pk_followed_rows"),
    )
    op.add_column(
        "assistant_versions", sa.Column("note", sa.Text, nullable=False, server_default="")
    )
