"""Adds the tables of batches."""

import sqlalchemy as sa
from alembic import op
from heddle_runtime.storage.database.columns import Amount, Identifier, Seconds
from heddle_runtime.storage.database.failures import UnusableDatabaseError

revision = "0006"
down_revision = "0005"
oldest_compatible = "0001"
_COUNTS = ("line_count", "completed_count", "failed_count")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "batches",
        *_owned(),
        sa.Column("position", Amount, nullable=False),
        sa.Column("status", sa.Text, nullable=False, server_default=""),
        sa.Column("organization", sa.Text, nullable=False, server_default=""),
        sa.Column("scopes", sa.Text, nullable=False, server_default=""),
        sa.Column("key_id", sa.Text, nullable=False, server_default=""),
        sa.Column("claimant", sa.Text, nullable=False, server_default=""),
        sa.Column("claimed_until", Seconds, nullable=False, server_default="0"),
        *(sa.Column(name, Amount, nullable=False, server_default="0") for name in _COUNTS),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index(None, "batches", ["organization_id", "owner_email", "position"])
    op.create_index(None, "batches", ["status", "position"])
    op.create_table(
        "batch_results",
        *_owned(),
        sa.Column("batch_id", sa.Text, nullable=False, server_default=""),
        sa.Column("line", Amount, nullable=False),
        sa.Column("failed", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index(None, "batch_results", ["batch_id", "line"])
    op.create_index(None, "batch_results", ["organization_id", "owner_email"])


def downgrade() -> None:
    """Drop them, unless a batch has not ended."""
    running = sa.text("SELECT count(*) FROM batches WHERE status IN ('in_progress', 'cancelling')")
    if op.get_bind().scalar(running):
        raise UnusableDatabaseError("batches have not ended")
    for table in ("batch_results", "batches"):
        op.drop_table(table)


def _owned() -> tuple[sa.Column[int] | sa.Column[str], ...]:
    return (
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("organization_id", Identifier, sa.ForeignKey("organizations.id"), nullable=False),
        sa.Column("owner_email", sa.Text, nullable=False),
        sa.Column("created_at", Seconds, nullable=False),
    )
