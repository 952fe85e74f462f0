"""`python -m heddle_assistants.schema`: the revision of the database's tables.

Runs beside the service, with its settings, for instance
`python -m heddle_assistants.schema downgrade 0007`.
"""

import asyncio
import sys

from heddle_runtime.errors import HeddleError
from heddle_runtime.settings.service import read
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.upgrading import current_revision, downgrade
from heddle_runtime.telemetry import logs

from heddle_assistants.app import AssistantsSettings
from heddle_assistants.database.schema import SCHEMA

_USAGE = "python -m heddle_assistants.schema [downgrade REVISION]"


async def run(url: str, revision: str) -> str:
    """Downgrade the tables to a revision if one is given, and return their revision."""
    async with open_database(url) as database:
        if revision:
            await downgrade(database, SCHEMA, revision)
        return await current_revision(database)


def main() -> None:
    """Print the revision, or downgrade."""
    logs.configure("assistants", "error")  # the command prints the revision alone
    match sys.argv[1:]:
        case []:
            revision = ""
        case ["downgrade", revision]:
            pass
        case _:
            sys.exit(f"Usage: {_USAGE}")
    sys.argv[1:] = []  # the settings come from the environment only
    try:
        at = asyncio.run(run(read(AssistantsSettings).database, revision))
    except (HeddleError, ValueError, OSError) as error:
        sys.exit(str(error))
    sys.stdout.write(f"The tables are at revision {at}.\n" if at else "There are no tables.\n")


if __name__ == "__main__":
    main()
