"""Adds the table of copies of questions for teachers."""

import sqlalchemy as sa
from alembic import op
from heddle_runtime.storage.database.columns import Identifier

revision = "0005"
down_revision = "0004"
oldest_compatible = "0001"


def upgrade() -> None:
    """Create it."""
    key = sa.ForeignKey("assistants.id")
    op.create_table(
        "learner_questions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("assistant_id", Identifier, key, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("learner", "conversation_id", "response_id", "text")
        ),
        *(sa.Column(name, sa.Boolean, nullable=False) for name in ("without_sources", "failures")),
    )
    for names in (["assistant_id", "day"], ["learner"], ["conversation_id"], ["response_id"]):
        op.create_index(None, "learner_questions", names)


def downgrade() -> None:
    """Drop it: conversations have the questions."""
    op.drop_table("learner_questions")
