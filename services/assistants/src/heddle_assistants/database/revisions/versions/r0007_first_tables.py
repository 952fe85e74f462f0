"""The tables that `schema.py` describes: the first revision that a database can be at.

An empty database gets its tables from there. Later revisions change those of earlier releases.
"""

revision = "0007"
down_revision = None


def upgrade() -> None:
    """Change nothing: a database at this revision has its tables."""
