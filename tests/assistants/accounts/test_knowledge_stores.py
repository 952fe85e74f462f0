"""`ResolveCollections`: who may search a knowledge store of LAMB's registry."""

import pytest
from assistants.accounts.conftest import ANN, BEN, EVE, SERVICE, Accounts
from assistants.stored import keep_collection, keep_store
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.storage.database.engine import Database

ENDPOINT = "http://ollama:11434"


async def registry(rows: Database) -> None:
    await keep_store(rows, "own", owner=ANN.subject, vendor="ollama", endpoint=ENDPOINT)
    await keep_store(rows, "shared", owner="carl@uni.example", shared=True)
    await keep_store(rows, "evil", owner=EVE.subject, organization="evil")
    await keep_store(rows, "evil's shared", owner=EVE.subject, organization="evil", shared=True)
    await keep_store(rows, "nobody's", owner="")


async def stores(accounts: Accounts, ids: list[str], **whose: str) -> list[pb.RegisteredStore]:
    request = pb.ResolveCollectionsRequest(ids=ids, **whose)
    return list((await accounts.call("ResolveCollections", request, SERVICE)).stores)


@pytest.mark.parametrize(
    ("whose", "usable"),
    [
        ({"owner": ANN.subject, "organization": "uni"}, {"own", "shared"}),
        ({"owner": ANN.subject.upper()}, {"own", "shared"}),
        ({"owner": BEN.subject, "organization": "uni"}, {"shared"}),
        ({"organization": "uni"}, {"shared"}),
        ({"owner": EVE.subject}, {"evil", "evil's shared"}),
        ({"owner": ANN.subject, "organization": "evil"}, {"evil's shared"}),  # a namesake
        ({"owner": "nobody@uni.example"}, set()),
        ({"owner": "\0"}, set()),
        ({}, set()),
    ],
)
async def test_owners_and_members_search_stores_of_their_organisation_alone(
    accounts: Accounts, rows: Database, whose: dict[str, str], usable: set[str]
) -> None:
    await registry(rows)
    names = ["own", "shared", "evil", "evil's shared", "nobody's"]
    answer = await stores(accounts, [*names, "a\0b", "not registered"], **whose)
    assert {each.id for each in answer} == set(names)
    assert {each.id for each in answer if not each.withheld} == usable
    assert [each for each in answer if each.withheld] == [
        pb.RegisteredStore(id=each, withheld=True) for each in sorted(set(names) - usable)
    ]


async def test_a_store_comes_with_its_organisation_and_its_provider_of_embeddings(
    accounts: Accounts, rows: Database
) -> None:
    await registry(rows)
    assert await stores(accounts, ["own"], owner=ANN.subject) == [
        pb.RegisteredStore(
            id="own",
            organization="uni",
            embedding_vendor="ollama",
            embedding_endpoint=ENDPOINT,
        )
    ]


async def test_a_knowledge_base_is_no_store(accounts: Accounts, rows: Database) -> None:
    await keep_collection(rows, "17", owner=ANN.subject)
    assert await stores(accounts, ["17"], owner=ANN.subject) == []
