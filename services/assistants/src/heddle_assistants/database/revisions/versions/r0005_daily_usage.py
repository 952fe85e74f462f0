"""The table of the usage of days."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Amount, Identifier

revision = "0005"
down_revision = "0004"
_AMOUNTS = (
    *("requests", "usage_unknown", "prompt_tokens", "cached_tokens", "completion_tokens"),
    *("unpriced_tokens", "cost_picos"),
)


def upgrade() -> None:
    """Create the table, without the usage of earlier days, of which only sums are known."""
    op.create_table(
        "daily_usage",
        sa.Column("assistant_id", Identifier, nullable=False, autoincrement=False),
        sa.Column("day", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("connector", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("organization_id", Identifier, nullable=False),
        *(sa.Column(name, Amount, nullable=False) for name in _AMOUNTS),
        sa.PrimaryKeyConstraint("assistant_id", "day", "connector", "model", name="pk_daily_usage"),
        sa.ForeignKeyConstraint(
            ["assistant_id"], ["assistants.id"], name="fk_daily_usage_assistant_id"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name="fk_daily_usage_organization_id"
        ),
    )
    op.create_index("ix_daily_usage_organization_id_day", "daily_usage", ["organization_id", "day"])
    op.create_index("ix_daily_usage_day", "daily_usage", ["day"])
