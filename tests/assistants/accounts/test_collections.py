"""`ResolveCollections`: whose the collections of knowledge-base servers are."""

import json

import pytest
from assistants.accounts.conftest import ANN, BEN, EVE, SERVICE, Accounts
from assistants.stored import keep_collection
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.storage.database.engine import Database

KINDS = {"own": 1, "shared": 2, "evil": 3, "evil's shared": 4, "nobody's": 5, "not registered": 6}


async def registry(rows: Database) -> None:
    await keep_collection(rows, "1", owner=ANN.subject)
    await keep_collection(rows, "2", owner="carl@uni.example", shared=True)
    await keep_collection(rows, "3", owner=EVE.subject, organization="evil")
    await keep_collection(rows, "4", owner=EVE.subject, organization="evil", shared=True)
    await keep_collection(rows, "5", owner="")


async def withheld(accounts: Accounts, ids: list[str], **whose: str) -> list[tuple[str, str]]:
    request = pb.ResolveCollectionsRequest(ids=ids, **whose)
    response = await accounts.call("ResolveCollections", request, SERVICE)
    return [(each.id, each.server_url) for each in response.withheld]


@pytest.mark.parametrize(
    ("whose", "kinds"),
    [
        ({"owner": ANN.subject, "organization": "uni"}, {"own", "shared"}),
        ({"owner": ANN.subject}, {"own", "shared"}),
        ({"owner": BEN.subject, "organization": "uni"}, {"shared"}),
        ({"organization": "uni"}, {"shared"}),
        ({"owner": EVE.subject}, {"evil", "evil's shared"}),
        ({"owner": ANN.subject, "organization": "evil"}, {"evil's shared"}),  # a namesake
        ({"owner": "nobody@uni.example"}, set()),
        ({"owner": "\0"}, set()),
        ({}, set()),
    ],
)
async def test_what_is_somebody_elses_is_withheld(
    accounts: Accounts, rows: Database, whose: dict[str, str], kinds: set[str]
) -> None:
    await registry(rows)
    found = await withheld(accounts, [*map(str, range(8)), "a\0b"], **whose)
    mine = {name for name, number in KINDS.items() if (str(number), "") not in found}
    assert mine == kinds | {"not registered"}


async def test_each_comes_with_the_server_of_its_organisation(
    accounts: Accounts, rows: Database
) -> None:
    await registry(rows)
    server = {"url": "http://kb.evil.example/", "token": "secret-of-evil"}
    await accounts.replace("evil", json.dumps({"kb_server": server}))
    found = await withheld(accounts, ["1", "3", "5"], owner=ANN.subject)
    assert found == [("3", "http://kb.evil.example"), ("5", "")]


async def test_an_empty_question_is_refused(accounts: Accounts) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await withheld(accounts, [], owner=ANN.subject)
    assert [each.field for each in caught.value.violations] == ["ids"]
