"""The code of this version, and that of a next one, which has one more revision of the tables."""

import shutil
from pathlib import Path

from heddle_assistants.database.schema import SCHEMA
from heddle_runtime.storage.database import upgrading

SOURCE = Path(__file__).parents[3] / "services/assistants/src"
NOW = upgrading.newest_revision(SCHEMA)
LATER = f"{int(NOW) + 1:04}"
REVISION = f"""
import sqlalchemy as sa
from alembic import op

from heddle_runtime.storage.database.failures import UnusableDatabaseError

revision = "{LATER}"
down_revision = "{NOW}"
oldest_compatible = "{NOW}"


def upgrade():
    op.add_column("organizations", sa.Column("colour", sa.Text, server_default=""))


def downgrade():
    query = "SELECT count(*) FROM organizations WHERE colour != ''"
    if op.get_bind().scalar(sa.text(query)):
        raise UnusableDatabaseError("organisations got colours since the upgrade")
    op.drop_column("organizations", "colour")
"""  # noqa: S608 - a constant


def install(folder: Path) -> str:
    """Put the next version into a folder, and return the PYTHONPATH that runs it."""
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    versions = folder / "heddle_assistants/database/revisions/versions"
    (versions / f"r{LATER}_later.py").write_text(REVISION)
    return str(folder)
