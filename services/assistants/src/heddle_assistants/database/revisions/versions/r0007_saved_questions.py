"""The table of saved questions."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Identifier

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "saved_questions",
        sa.Column("assistant_id", Identifier, nullable=False, autoincrement=False),
        sa.Column("revision", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("questions", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("assistant_id", name="pk_saved_questions"),
        sa.ForeignKeyConstraint(
            ["assistant_id"], ["assistants.id"], name="fk_saved_questions_assistant_id"
        ),
    )
