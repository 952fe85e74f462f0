"""Members of groups by what an identity provider says when they sign in."""

import time
from collections.abc import Sequence

from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.schema import group_members, learner_groups, organizations

MAX_CLAIMS = 1_000
"""The maximum number of claims of a user that count."""
_G, _M = learner_groups.c, group_members.c


async def follow_claims(
    connection: AsyncConnection, organization: str, email: str, claims: Sequence[str]
) -> None:
    """Let a user be in the groups of an organisation whose claims an identity provider confirms.

    The user leaves those that it joined so, and whose claims are no longer confirmed.
    """
    known = [each for each in claims[:MAX_CLAIMS] if each and "\0" not in each]
    here = select(_G.id).join(organizations).where(organizations.c.slug == organization)
    ids = (await connection.scalars(here.where(_G.claim.in_(known)))).all()
    mine = (_M.email == email) & _M.by_claim & _M.group_id.in_(here)
    await connection.execute(delete(group_members).where(mine, _M.group_id.not_in(ids)))
    now = int(time.time())
    rows = [{"group_id": each, "email": email, "by_claim": True, "joined_at": now} for each in ids]
    if rows:
        adding = insertion(connection, group_members).values(rows)
        await connection.execute(adding.on_conflict_do_nothing())
