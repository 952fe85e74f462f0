"""Adds the tables of conversations."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from heddle_runtime.storage.database.columns import Amount, Identifier, Seconds
from heddle_runtime.storage.database.failures import UnusableDatabaseError

revision = "0003"
down_revision = "0002"
oldest_compatible = "0001"
_TABLES = ("conversation_items", "responses", "conversations", "conversation_owners")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "conversation_owners",
        _organization(is_key=True),
        sa.Column("owner_email", sa.Text, primary_key=True),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.Column("item_count", Amount, nullable=False, server_default="0"),
        sa.Column("last_position", Amount, nullable=False, server_default="0"),
    )
    _create(
        "conversations",
        sa.Column("updated_at", Seconds, nullable=False),
        sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.false()),
        _text("last_item"),
        sa.Column("details", sa.LargeBinary, nullable=False),
        sa.Column("words", sa.LargeBinary, nullable=False),
    )
    _create(
        "responses",
        sa.Column("updated_at", Seconds, nullable=False),
        _text("conversation_id"),
        _text("status"),
        _text("last_item"),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("events", sa.LargeBinary),
    )
    _create(
        "conversation_items",
        _text("conversation_id"),
        _text("response_id"),
        sa.Column("position", Amount, nullable=False),
        sa.Column("is_input", sa.Boolean, nullable=False, server_default=sa.false()),
        _text("parent"),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("feedback", sa.LargeBinary),
    )
    for table in ("conversations", "responses"):
        op.create_index(None, table, ["updated_at"])
        op.create_index(None, table, ["organization_id", "owner_email", "updated_at"])
    op.create_index(None, "responses", ["conversation_id"])
    op.create_index(None, "conversation_items", ["parent"])
    op.create_index(None, "conversation_items", ["conversation_id", "position"])
    op.create_index(None, "conversation_items", ["response_id", "position"])
    op.create_index(None, "conversation_items", ["organization_id", "owner_email"])


def downgrade() -> None:
    """Drop them, unless a conversation or response is stored."""
    for table in _TABLES:
        rows = sa.select(sa.func.count()).select_from(sa.table(table))
        if op.get_bind().scalar(rows):
            raise UnusableDatabaseError("conversations were stored since the upgrade")
        op.drop_table(table)


def _create(table: str, *columns: sa.Column[Any]) -> None:
    op.create_table(
        table,
        sa.Column("id", sa.Text, primary_key=True),
        _organization(),
        sa.Column("owner_email", sa.Text, nullable=False),
        sa.Column("created_at", Seconds, nullable=False),
        *columns,
    )


def _organization(*, is_key: bool = False) -> sa.Column[int]:
    key = sa.ForeignKey("organizations.id")
    return sa.Column(
        "organization_id", Identifier, key, primary_key=is_key, nullable=False, autoincrement=False
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")
