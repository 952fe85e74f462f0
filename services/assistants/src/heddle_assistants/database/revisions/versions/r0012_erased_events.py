"""Events of erased persons."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Create the column."""
    column = sa.Column("erased_digest", sa.Text, nullable=False, server_default="")
    op.add_column("audit_events", column)
