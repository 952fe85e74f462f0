"""Who may do what: the rules in Python and those in SQL are the same."""

from itertools import product
from typing import NamedTuple

import pytest
from assistants.stored import keep
from heddle_assistants.access import ASSISTANTS
from heddle_assistants.database.schema import assistants, organizations
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity import permissions
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION, DEVELOPER, Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, select

CALLERS = [
    DEVELOPER,
    Identity("ada@uni.example", "uni", ("creator",)),
    Identity("bob@uni.example", "uni", ("creator",)),
    Identity("ada@uni.example", "college", ("creator",)),
    Identity("ada@uni.example"),
    Identity("key:1", "uni"),
    Identity("chair@uni.example", "uni", ("organization_admin",)),
    Identity("chair@college.example", "college", ("organization_admin",)),
    Identity("root@heddle.example", "main", ("admin",)),
    Identity("orchestrator", "", ("service",)),
]


class Thing(NamedTuple):
    id: int
    owner: str
    organization: str
    published: bool


async def test_python_and_sql_say_the_same_of_every_row(database: Database) -> None:
    owners = ("ada@uni.example", "bob@uni.example", "developer")
    places = product(("uni", "college", DEFAULT_ORGANIZATION), owners, (True, False))
    for number, (organization, owner, published) in enumerate(places):
        name = f"a{number}"
        await keep(database, organization=organization, owner=owner, published=published, name=name)
    columns = (assistants.c.id, assistants.c.owner, organizations.c.slug, assistants.c.published)
    async with database.reading() as connection:

        async def those(where: ColumnElement[bool]) -> set[Thing]:
            query = select(*columns).join(organizations).where(where)
            return {Thing._make(row) for row in await connection.execute(query)}

        things = {
            Thing._make(row)
            for row in await connection.execute(select(*columns).join(organizations))
        }
        assert len(things) == 18
        for caller in CALLERS:
            usable = {thing for thing in things if permissions.may_use(caller, thing)}
            assert await those(ASSISTANTS.usable(caller)) == usable, caller
            assert await those(ASSISTANTS.offered(caller)) == {t for t in usable if t.published}, (
                caller
            )
            changeable = {thing for thing in things if permissions.may_change(caller, thing)}
            assert await those(ASSISTANTS.changeable(caller)) == changeable, caller
            owned = {thing for thing in things if permissions.owns(caller, thing)}
            assert await those(ASSISTANTS.owned(caller)) == owned, caller


@pytest.mark.parametrize("caller", CALLERS)
def test_only_administrators_may_do_everything(caller: Identity) -> None:
    if "admin" in caller.scopes:
        permissions.require_administrator(caller)
        return
    with pytest.raises(PermissionDeniedError, match="scope 'admin'"):
        permissions.require_administrator(caller)


def test_what_nobody_owns_is_nobodys_own() -> None:
    assert not permissions.may_use(Identity("", "uni"), Thing(1, "", "uni", published=False))
