"""The table of the versions of assistants."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Identifier, Seconds

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the table. The first change of an assistant stores its state before."""
    op.create_table(
        "assistant_versions",
        sa.Column("assistant_id", Identifier, nullable=False, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("saved_at", Seconds, nullable=False),
        sa.Column("author", sa.Text, nullable=False, server_default=""),
        sa.Column("action", sa.Text, nullable=False, server_default=""),
        sa.Column("changed", sa.Text, nullable=False, server_default=""),
        sa.Column("restored_number", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("assistant_id", "number", name="pk_assistant_versions"),
        sa.ForeignKeyConstraint(
            ["assistant_id"], ["assistants.id"], name="fk_assistant_versions_assistant_id"
        ),
    )
