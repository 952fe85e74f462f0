"""Applies the usage of assistants in the other installation.

It is a row of its own for each assistant, so what they used in Heddle stays beside it.
"""

from collections.abc import Sequence

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.schema import usage
from heddle_assistants.following.applied_rows import Draft

USAGE = "usage"
_AMOUNTS = ("requests", "prompt_tokens", "completion_tokens", "cost_picos")


async def apply_usage(connection: AsyncConnection, drafts: Sequence[Draft]) -> None:
    """Set the sums of the other installation; a row that is gone stays."""
    for draft in drafts:
        if draft.after is None or not any(map(draft.differs, _AMOUNTS)):
            continue
        query = update(usage).where(
            usage.c.assistant_id == draft.id,
            usage.c.connector == draft.after["connector"],
            usage.c.model == draft.after["model"],
        )
        amounts = {name: draft.after[name] for name in _AMOUNTS}
        draft.changed = bool((await connection.execute(query.values(**amounts))).rowcount)
