"""The tables of the audit log."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Amount, Identifier, Seconds

revision = "0002"
down_revision = "0001"
_TEXTS = (
    *("organization", "subject", "subject_organization", "scopes", "client_user"),
    "api_key_id",
    *("action", "object_type", "object_id", "outcome", "changes"),
    *("before_digest", "after_digest", "request_id", "trace_id"),
    *("key_id", "previous_digest", "digest"),
)
_INDEXED = ("organization", "subject", "object_id", "recorded_at")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "audit_events",
        sa.Column("number", Identifier, autoincrement=False),
        sa.Column("recorded_at", Seconds, nullable=False),
        *map(_text, _TEXTS),
        sa.PrimaryKeyConstraint("number", name="pk_audit_events"),
    )
    for name in _INDEXED:
        op.create_index(f"ix_audit_events_{name}_number", "audit_events", [name, "number"])
    op.create_table(
        "audit_chain",
        sa.Column("id", sa.Integer, autoincrement=False),
        sa.Column("expired_number", Amount, nullable=False),
        _text("expired_digest"),
        sa.Column("last_number", Amount, nullable=False),
        *map(_text, ("last_digest", "key_id", "digest")),
        sa.PrimaryKeyConstraint("id", name="pk_audit_chain"),
    )
    op.create_table(
        "audit_keys",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.Column("created_at", Seconds, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_keys"),
    )
    op.create_table(
        "audit_recorders",
        sa.Column("recorder", sa.Text, nullable=False),
        sa.Column("last_number", Amount, nullable=False),
        sa.Column("recorded_at", Seconds, nullable=False),
        sa.PrimaryKeyConstraint("recorder", name="pk_audit_recorders"),
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")
