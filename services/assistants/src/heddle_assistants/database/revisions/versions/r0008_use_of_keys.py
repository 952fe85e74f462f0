"""When API keys were last used."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Seconds

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column."""
    op.add_column("api_keys", sa.Column("used_at", Seconds, nullable=True))
