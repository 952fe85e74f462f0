"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "organizations",
        _id(),
        _text("slug"),
        _text("name"),
        _flag("is_system"),
        _text("status", default="active"),
        _text("config", default="{}"),
        _integer("created_at"),
        _integer("updated_at"),
        sa.UniqueConstraint("slug"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "users",
        _id(),
        _organization(),
        _text("email"),
        _text("name", default=""),
        _text("role"),
        _flag("enabled", default=sa.true()),
        _integer("created_at"),
        _integer("updated_at"),
        sa.UniqueConstraint("email"),
        sa.CheckConstraint("role IN ('admin', 'creator', 'member')", name="role"),
        sa.Index(None, "organization_id", "id"),
        sqlite_autoincrement=True,
    )
    _make_assistants()
    op.create_table(
        "rubrics",
        _id(),
        _text("rubric_id"),
        _organization(),
        _text("owner_email"),
        _text("title"),
        _optional_text("description"),
        _text("rubric_data"),
        _flag("is_public"),
        _flag("is_showcase"),
        _optional_text("parent_rubric_id"),
        _integer("created_at"),
        _integer("updated_at"),
        sa.UniqueConstraint("rubric_id"),
        sa.Index(None, "organization_id", "id"),
        sa.Index(None, "owner_email", "id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "knowledge_bases",
        _id(),
        _text("kb_id"),
        _organization(),
        _text("owner_email"),
        _text("name"),
        _optional_text("description"),
        _flag("is_shared"),
        _integer("created_at"),
        _integer("updated_at"),
        sa.UniqueConstraint("kb_id"),
        sa.Index(None, "organization_id", "id"),
        sa.Index(None, "owner_email", "id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text, primary_key=True),
        _text("name", default=""),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        _organization(),
        _optional_text("user_email"),
        _text("scopes", default=""),
        _flag("trusted"),
        _integer("created_at"),
        _optional_integer("expires_at"),
        _optional_integer("revoked_at"),
        sa.Index(None, "organization_id", "id"),
    )
    _make_usage()


def _make_assistants() -> None:
    op.create_table(
        "assistants",
        _id(),
        _organization(),
        _text("name"),
        _text("title", default=""),
        _optional_text("description"),
        _text("owner"),
        *map(_optional_text, ("metadata", "system_prompt", "prompt_template")),
        *map(_optional_text, ("rag_endpoint", "rag_top_k", "rag_collections")),
        *map(_optional_text, ("pre_retrieval_endpoint", "post_retrieval_endpoint")),
        _flag("published"),
        *map(_optional_text, ("group_id", "group_name", "oauth_consumer_name")),
        _optional_integer("published_at"),
        _integer("created_at"),
        _integer("updated_at"),
        _count("revision", first=1),
        _optional_integer("deleted_at"),
        sa.UniqueConstraint("organization_id", "name", "owner"),
        sa.Index(None, "organization_id", "id"),
        sa.Index(None, "organization_id", "published", "id"),
        sa.Index(None, "owner", "id"),
        sa.Index(None, "name", "id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "originals",
        sa.Column(
            "assistant_id",
            _INTEGER,
            sa.ForeignKey("assistants.id"),
            primary_key=True,
            autoincrement=False,
        ),
        _optional_text("metadata"),
        sa.Column("from_version", sa.Integer, nullable=False),
        sa.Column("to_version", sa.Integer, nullable=False),
        _text("migrated"),
        _integer("created_at"),
    )


def _make_usage() -> None:
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
        *map(_integer, ("requests", "usage_unknown")),
        *map(_integer, ("prompt_tokens", "cached_tokens", "completion_tokens")),
        *map(_integer, ("unpriced_tokens", "cost_picos")),
    )
    op.create_table(
        "usage_recorders",
        sa.Column("recorder", sa.Text, primary_key=True),
        *map(_integer, ("last_number", "recorded_at")),
    )


def _id() -> "sa.Column[int]":
    return sa.Column("id", _INTEGER, sa.Identity(always=False), primary_key=True)


def _organization() -> "sa.Column[int]":
    key = sa.ForeignKey("organizations.id")
    return sa.Column("organization_id", _INTEGER, key, nullable=False)


def _text(name: str, *, default: str | None = None) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _optional_text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text)


def _integer(name: str) -> "sa.Column[int]":
    return sa.Column(name, _INTEGER, nullable=False)


def _optional_integer(name: str) -> "sa.Column[int]":
    return sa.Column(name, _INTEGER)


def _flag(name: str, *, default: "sa.ColumnElement[bool] | None" = None) -> "sa.Column[bool]":
    default = sa.false() if default is None else default
    return sa.Column(name, sa.Boolean, nullable=False, server_default=default)


def _count(name: str, *, first: int = 0) -> "sa.Column[int]":
    return sa.Column(name, sa.Integer, nullable=False, server_default=sa.text(str(first)))
