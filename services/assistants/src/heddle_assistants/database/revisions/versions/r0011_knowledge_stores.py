"""The registry of LAMB's knowledge stores."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Identifier, Seconds

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "knowledge_stores",
        sa.Column("id", Identifier, nullable=False, autoincrement=False),
        sa.Column("store_id", sa.Text, nullable=False),
        sa.Column("organization_id", Identifier, nullable=False),
        sa.Column("owner_email", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=True),
        sa.Column("is_shared", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("embedding_vendor", sa.Text, nullable=False, server_default=""),
        sa.Column("embedding_model", sa.Text, nullable=False, server_default=""),
        sa.Column("embedding_endpoint", sa.Text, nullable=False, server_default=""),
        sa.Column("created_at", Seconds, nullable=False),
        sa.Column("updated_at", Seconds, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_knowledge_stores"),
        sa.UniqueConstraint("store_id", name="uq_knowledge_stores_store_id"),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name="fk_knowledge_stores_organization_id",
        ),
    )
    op.create_index(
        "ix_knowledge_stores_organization_id_id", "knowledge_stores", ["organization_id", "id"]
    )
    op.create_index("ix_knowledge_stores_owner_email_id", "knowledge_stores", ["owner_email", "id"])
