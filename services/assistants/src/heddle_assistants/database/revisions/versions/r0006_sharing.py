"""Who may use and edit single assistants."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Identifier

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the table, and the column that says the same for reads of one row."""
    op.add_column("assistants", sa.Column("sharing", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "assistant_users",
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("assistant_id", Identifier, nullable=False, autoincrement=False),
        sa.Column("may_edit", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("email", "assistant_id", name="pk_assistant_users"),
        sa.ForeignKeyConstraint(
            ["assistant_id"], ["assistants.id"], name="fk_assistant_users_assistant_id"
        ),
    )
    op.create_index("ix_assistant_users_assistant_id", "assistant_users", ["assistant_id"])
