"""The tables of passwords, sessions and attempts to sign in."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Identifier, Seconds

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "passwords",
        sa.Column("user_id", Identifier, nullable=False, autoincrement=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("all_organizations", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("changed_at", Seconds, nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_passwords"),
        _user("passwords"),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("pepper_id", sa.Text, nullable=False, server_default=""),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("method", sa.Text, nullable=False, server_default=""),
        sa.Column("all_organizations", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("created_at", Seconds, nullable=False),
        sa.Column("used_at", Seconds, nullable=False),
        sa.Column("ends_at", Seconds, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
        _user("sessions"),
    )
    for name in ("user_id", "ends_at"):
        op.create_index(f"ix_sessions_{name}", "sessions", [name])
    op.create_table(
        "sign_in_attempts",
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
        sa.Column("ends_at", Seconds, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_sign_in_attempts"),
    )
    op.create_index("ix_sign_in_attempts_ends_at", "sign_in_attempts", ["ends_at"])


def _user(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_user_id"
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=name, ondelete="CASCADE")
