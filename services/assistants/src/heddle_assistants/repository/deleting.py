"""Taking an assistant out of use, as LAMB does: the row stays, under another owner and name."""

import time

from heddle_conversion.identifiers import DELETED_OWNER
from heddle_runtime.errors import AlreadyExistsError
from heddle_runtime.identity import Identity

from heddle_assistants.repository.row import Row
from heddle_assistants.repository.writer import Columns, Writer


async def delete(writer: Writer, identifier: str, identity: Identity, etag: str) -> None:
    """Delete an assistant; the owner can use its name again. Raises what `Writer.change` does."""
    now = int(time.time())

    def named(row: Row) -> Columns:
        return _out_of_use(f"{row.name}_deleted_{now}", now)

    def numbered(row: Row) -> Columns:
        return _out_of_use(f"{row.name}_{row.id}_deleted_{now}", now)

    try:
        await writer.change(identifier, identity, etag, named, action="delete")
    except AlreadyExistsError:  # two owners deleted assistants of one name in one second
        await writer.change(identifier, identity, etag, numbered, action="delete")


def _out_of_use(name: str, now: int) -> Columns:
    return {"owner": DELETED_OWNER, "name": name, "deleted_at": now}
