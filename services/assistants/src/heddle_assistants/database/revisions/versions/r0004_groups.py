"""Adds the tables of groups, and of what is counted of questions."""

import sqlalchemy as sa
from alembic import op
from heddle_runtime.storage.database.columns import Amount, Identifier, Seconds
from heddle_runtime.storage.database.failures import UnusableDatabaseError

revision = "0004"
down_revision = "0003"
oldest_compatible = "0001"
_COUNTS = (
    *("questions", "without_sources", "failures", "helpful", "unhelpful"),
    *("timed", "first_token_millis"),
)


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "learner_groups",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("organization_id", Identifier, sa.ForeignKey("organizations.id"), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("claim", sa.Text, nullable=False, server_default=""),
        sa.Column("code", sa.Text, unique=True),
        sa.Column("code_expires_at", Seconds),
        sa.Column("code_uses", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", Seconds, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False, server_default="1"),
    )
    op.create_index(None, "learner_groups", ["organization_id", "id"])
    op.create_table(
        "group_members",
        sa.Column("group_id", sa.Text, sa.ForeignKey("learner_groups.id"), primary_key=True),
        sa.Column("email", sa.Text, primary_key=True),
        sa.Column("is_teacher", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("by_claim", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("joined_at", Seconds, nullable=False),
    )
    op.create_index(None, "group_members", ["email"])
    op.create_table(
        "group_assistants",
        sa.Column("group_id", sa.Text, sa.ForeignKey("learner_groups.id"), primary_key=True),
        _assistant(),
    )
    op.create_index(None, "group_assistants", ["assistant_id"])
    op.create_table(
        "question_days",
        _assistant(),
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("learner", sa.Text, primary_key=True),
        *(sa.Column(name, Amount, nullable=False, server_default="0") for name in _COUNTS),
    )
    op.create_index(None, "question_days", ["day"])
    op.create_index(None, "question_days", ["learner"])


def downgrade() -> None:
    """Drop them, unless there is a group."""
    rows = sa.select(sa.func.count()).select_from(sa.table("learner_groups"))
    if op.get_bind().scalar(rows):
        raise UnusableDatabaseError("groups were created since the upgrade")
    for table in ("question_days", "group_assistants", "group_members", "learner_groups"):
        op.drop_table(table)


def _assistant() -> sa.Column[int]:
    key = sa.ForeignKey("assistants.id")
    return sa.Column("assistant_id", Identifier, key, primary_key=True, autoincrement=False)
