"""What assistants consumed."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "usage",
        sa.Column(
            "assistant_id",
            _INTEGER,
            sa.ForeignKey("assistants.id"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("connector", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, primary_key=True),
        *map(_amount, ("requests", "usage_unknown")),
        *map(_amount, ("prompt_tokens", "cached_tokens", "completion_tokens")),
        *map(_amount, ("unpriced_tokens", "cost_picos")),
    )
    op.create_table(
        "usage_recorders",
        sa.Column("recorder", sa.Text, primary_key=True),
        *map(_amount, ("last_number", "recorded_at")),
    )


def _amount(name: str) -> "sa.Column[int]":
    return sa.Column(name, _INTEGER, nullable=False)
