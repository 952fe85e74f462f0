"""Imports the usage of assistants elsewhere."""

from collections.abc import Sequence

from heddle_runtime.errors import NotFoundError
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.schema import assistants, usage
from heddle_assistants.imports.conflict_resolution import Draft

_KEY = ("assistant_id", "connector", "model")
_UNKNOWN = {"usage_unknown": 0, "cached_tokens": 0, "unpriced_tokens": 0}


async def place(connection: AsyncConnection, drafts: Sequence[Draft], *, dry_run: bool) -> None:
    """Insert the drafts that are new, in the caller's transaction.

    A row that is there stays as it is, so what is imported again counts once.
    """
    ids = [draft.values["assistant_id"] for draft in drafts]
    key_columns = [usage.c[name] for name in _KEY]
    rows = await connection.execute(select(*key_columns).where(usage.c.assistant_id.in_(ids)))
    present = {tuple(row) for row in rows}
    query = select(assistants.c.id, assistants.c.created_at).where(assistants.c.id.in_(ids))
    created_at = {row.id: row.created_at for row in await connection.execute(query)}
    for draft in drafts:
        values = draft.values
        created = values.pop("assistant_created_at")
        # In a dry run, the assistant may not be there yet.
        expected = created_at.get(values["assistant_id"], created if dry_run else None)
        if tuple(values[name] for name in _KEY) in present:
            draft.present = True
        elif expected != created:
            message = "Its assistant is not imported, so its usage is not, either."
            draft.error = NotFoundError(message, id=str(values["assistant_id"]))
    new = [{**_UNKNOWN, **draft.values} for draft in drafts if draft.is_new]
    if new and not dry_run:
        await connection.execute(insert(usage), new)
