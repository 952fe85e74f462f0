"""The jobs of the migration, and their findings."""

import sqlalchemy as sa
from alembic import op

from heddle_assistants.database.columns import Identifier, Seconds

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "jobs",
        sa.Column("id", Identifier, sa.Identity(always=False), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("dry_run", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("discard_edits", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("state", sa.Text, nullable=False, index=True),
        sa.Column("author", sa.Text, nullable=False, server_default=""),
        sa.Column("created_at", Seconds, nullable=False),
        sa.Column("ended_at", Seconds, nullable=True),
        sa.Column("interruptions", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("tables", sa.Text, nullable=False, server_default=""),
        sa.Column("finding_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("last_finding", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("error", sa.Text, nullable=False, server_default=""),
        sa.Column("revision", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("claimant", sa.Text, nullable=False, server_default=""),
        sa.Column("claimed_until", Seconds, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "job_findings",
        sa.Column("job_id", Identifier, nullable=False, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("source", sa.Text, nullable=False, server_default=""),
        sa.Column("row_id", sa.Text, nullable=False, server_default=""),
        sa.Column("row_name", sa.Text, nullable=False, server_default=""),
        sa.Column("notes", sa.Text, nullable=False, server_default=""),
        sa.Column("refusal", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_job_findings"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name="fk_job_findings_job_id", ondelete="CASCADE"
        ),
    )
    op.create_index(
        "ix_job_findings_job_id_source_row_id", "job_findings", ["job_id", "source", "row_id"]
    )
