"""The knowledge-base server of an assistant's owner, through the whole service."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from heddle.account.v1 import account_pb2
from heddle.knowledge.v1 import knowledge_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import ToolFailedError, UnavailableError
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from knowledge.kb_server import KnowledgeBaseServer, hit, kb_server
from runtime.accounts import SECRET, Accounts, serving_accounts
from structlog.testing import capture_logs
from tools_service import serving
from tools_service.services import Services, services
from tools_service.serving import Client, text_of

ASKED = {"collections": ["1"]}
OPERATORS = "operators-token"


@pytest.fixture
async def servers() -> AsyncIterator[tuple[KnowledgeBaseServer, KnowledgeBaseServer]]:
    """The university's server and the operator's."""
    async with kb_server() as own, kb_server() as operators:
        own.answers = {"1": {"results": [hit("from the university")]}}
        operators.answers = {"1": {"results": [hit("from the operator")]}}
        yield own, operators


@asynccontextmanager
async def service(
    folder: Path, accounts: Accounts, operators: KnowledgeBaseServer, **more: Any
) -> AsyncGenerator[Services]:
    knowledge = {
        "kb_url": operators.url,
        "kb_token": OPERATORS,
        SETTING: "127.0.0.0/8",
        **more,
    }
    # Over the wire: the token of the service's own name has to be right.
    async with (
        serving_accounts(accounts) as known,
        services(folder, assistants_address=known.address, **knowledge) as both,
    ):
        yield both


@asynccontextmanager
async def tools(
    folder: Path, accounts: Accounts, operators: KnowledgeBaseServer, **more: Any
) -> AsyncGenerator[Client]:
    async with service(folder, accounts, operators, **more) as both:
        yield both.client


def said(*words: str, **of: str) -> pb.RunContext:
    """Return a context with a grant of the services' secret."""
    return serving.said(*words, secret=SECRET, **of)


def uni(server: KnowledgeBaseServer) -> Accounts:
    owners = {"ann@uni.example": "uni"}
    accounts = Accounts(owners=owners)  # type: ignore[abstract] # it does not offer every method
    knowledge = account_pb2.KnowledgeServer(url=f"{server.url}/", token="uni-token")
    accounts.add("uni", knowledge=knowledge)
    accounts.add("poor")
    accounts.add("default", system=True)
    return accounts


SECRETS = {"HEDDLE_IDENTITY_SECRET": SECRET}


@pytest.mark.parametrize("tool", ["simple_rag", "context_aware_rag", "hierarchical_rag"])
@pytest.mark.parametrize(
    "of", [{"organization": "uni"}, {"owner": "ann@uni.example"}], ids=["organisation", "owner"]
)
async def test_the_owners_organisation_is_asked_with_its_token(
    tmp_path: Path, servers: Any, tool: str, of: dict[str, str]
) -> None:
    own, operators = servers
    async with tools(tmp_path, uni(own), operators, **SECRETS) as client:
        _, result = await client.run(tool, ASKED, said("?", **of))
    assert text_of(result) == "from the university"
    assert own.headers[0]["Authorization"] == "Bearer uni-token"
    assert not operators.paths


async def test_an_organisation_without_a_server_gets_nobody_elses(
    tmp_path: Path, servers: Any
) -> None:
    own, operators = servers
    async with tools(tmp_path, uni(own), operators, **SECRETS) as client:
        for slug in ("poor", "nowhere"):
            with pytest.raises(ToolFailedError) as caught:
                await client.run("simple_rag", ASKED, said("?", organization=slug))
            assert caught.value.message.startswith("KB configuration error: ")
            assert operators.url not in caught.value.message
    assert not own.paths + operators.paths


@pytest.mark.parametrize(
    ("of", "more"),
    [
        ({"organization": "default"}, {}),
        ({"owner": "unknown@elsewhere.example"}, {}),
        ({}, {}),
        ({"organization": "poor"}, {"kb_shared": True}),
    ],
)
async def test_the_operators_server_is_the_operators_unless_he_shares_it(
    tmp_path: Path, servers: Any, of: dict[str, str], more: dict[str, bool]
) -> None:
    own, operators = servers
    async with tools(tmp_path, uni(own), operators, **SECRETS, **more) as client:
        _, result = await client.run("simple_rag", ASKED, said("?", **of))
    assert text_of(result) == "from the operator"
    assert operators.headers[0]["Authorization"] == f"Bearer {OPERATORS}"
    assert not own.paths


ANN = {"owner": "ann@uni.example", "organization": "uni"}
WITHHELD = "the knowledge-base server has no such collection (404)"


@pytest.mark.parametrize(
    ("server_url", "withheld"),
    [
        ("OWN", True),
        ("OWN/", True),
        ("http://kb.college.example", False),  # where 1 is another collection
        ("http://kb.college.example:nonsense", False),
        ("", False),  # it is at the operator's
    ],
)
async def test_what_somebody_else_has_at_the_same_server_seems_missing(
    tmp_path: Path, servers: Any, server_url: str, *, withheld: bool
) -> None:
    own, operators = servers
    own.answers |= {"2": {"results": [hit("two")]}}
    accounts = uni(own)
    address = server_url.replace("OWN", own.url.replace("http", "HTTP"))
    accounts.withheld = [account_pb2.WithheldCollection(id="1", server_url=address)]
    async with tools(tmp_path, accounts, operators, **SECRETS) as client:
        context = said("?", organization="uni", owner="ann@uni.example")
        _, result = await client.run("simple_rag", {"collections": ["1", "2", "3"]}, context)
    complaint = f"Collection {{!r}} was not searched: {WITHHELD}."
    expected = [complaint.format(name) for name in (["1", "3"] if withheld else ["3"])]
    assert list(result.warnings) == expected
    assert text_of(result) == ("two" if withheld else "from the university\n\ntwo")
    assert any("/1/" in path for path in own.paths) is not withheld
    [asked] = accounts.asked_collections  # one call for all of them
    assert (list(asked.ids), asked.owner, asked.organization) == (
        ["1", "2", "3"],
        "ann@uni.example",
        "uni",
    )


async def test_what_a_tenant_has_at_the_operators_server_seems_missing_to_others(
    tmp_path: Path, servers: Any
) -> None:
    own, operators = servers
    accounts = uni(own)
    accounts.withheld = [account_pb2.WithheldCollection(id="1")]
    shared = {**SECRETS, "kb_shared": True}
    async with tools(tmp_path, accounts, operators, **shared) as client:
        for slug in ("poor", "default"):
            with pytest.raises(ToolFailedError, match="has no such collection"):
                await client.run("simple_rag", ASKED, said("?", organization=slug))
        # The operator's own assistants, which are nobody's, may search everything.
        await client.run("simple_rag", ASKED, said("?"))
    assert len(operators.paths) == 1


async def test_a_record_that_names_anothers_collection_does_not_help(
    tmp_path: Path, servers: Any
) -> None:
    own, operators = servers
    accounts = uni(own)
    accounts.withheld = [account_pb2.WithheldCollection(id="1", server_url=own.url)]
    mine = knowledge_pb2.Collection(name="mine", backend="lamb-kb", settings={"collection_id": "1"})
    async with service(tmp_path, accounts, operators, **SECRETS) as both:
        knowledge = both.knowledge_stub
        asked = knowledge_pb2.CreateCollectionRequest(collection=mine)
        CALLER.set(Caller("req", Identity("ann@uni.example", "uni", ("creator",))))
        await knowledge.CreateCollection(asked, timeout=30)
        client = both.client
        with pytest.raises(ToolFailedError, match="has no such collection"):
            await client.run("simple_rag", {"collections": ["mine"]}, said("?", **ANN))
    assert not own.paths


async def test_whoever_shares_a_record_lends_his_own_server(tmp_path: Path, servers: Any) -> None:
    own, operators = servers
    everyones = knowledge_pb2.Collection(
        name="guide",
        backend="lamb-kb",
        settings={"collection_id": "1"},
        sharing=knowledge_pb2.SHARING_EVERYONE,
    )
    async with service(tmp_path, uni(own), operators, **SECRETS) as both:
        knowledge = both.knowledge_stub
        asked = knowledge_pb2.CreateCollectionRequest(collection=everyones)
        await knowledge.CreateCollection(asked, timeout=30)
        client = both.client
        _, result = await client.run("simple_rag", {"collections": ["guide"]}, said("?", **ANN))
    assert text_of(result) == "from the operator"
    assert not own.paths


async def test_settings_that_cannot_be_had_are_a_configuration_error_that_may_pass(
    tmp_path: Path, servers: Any
) -> None:
    own, operators = servers
    accounts = uni(own)
    accounts.failure = UnavailableError("uni-token is in http://kb.uni")
    with capture_logs() as logs:
        async with tools(tmp_path, accounts, operators, **SECRETS) as client:
            with pytest.raises(UnavailableError) as caught:
                await client.run("simple_rag", ASKED, said("?", organization="uni"))
    assert caught.value.message == (
        "KB configuration error: the organisation's settings cannot be had at the moment"
    )
    assert "uni-token" not in repr(logs)
    assert not own.paths + operators.paths


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_an_organisations_server_in_a_private_network_is_not_reached(
    tmp_path: Path, servers: Any, host: str, scheme: str
) -> None:
    own, operators = servers
    accounts = uni(own)
    url = own.url.replace("http://127.0.0.1", f"{scheme}://{host}")
    accounts.add("uni", knowledge=account_pb2.KnowledgeServer(url=url, token="uni-token"))
    async with tools(tmp_path, accounts, operators, **SECRETS, **{SETTING: ""}) as client:
        with pytest.raises(ToolFailedError) as caught:
            await client.run("simple_rag", ASKED, said("?", organization="uni"))
        accounts.add("default", knowledge=accounts.settings["uni"].knowledge, system=True)
        if scheme == "http":  # the operator's organisation may name any address
            _, result = await client.run("simple_rag", ASKED, said("?", organization="default"))
            assert text_of(result) == "from the university"
    assert caught.value.message.startswith("KB configuration error: ")
    assert SETTING in caught.value.message
    assert url not in caught.value.message
    assert len(own.paths) == (scheme == "http")


@pytest.mark.parametrize("url", ["ftp://kb", "kb:9090", "http://user:pa55@kb", "http://kb?token=x"])
async def test_an_address_of_no_use_is_told_without_repeating_it(
    tmp_path: Path, servers: Any, url: str
) -> None:
    own, operators = servers
    accounts = uni(own)
    knowledge = account_pb2.KnowledgeServer(url=url, token="uni-token")
    accounts.add("uni", knowledge=knowledge)
    async with tools(tmp_path, accounts, operators, **SECRETS) as client:
        with pytest.raises(ToolFailedError) as caught:
            await client.run("simple_rag", ASKED, said("?", organization="uni"))
    assert caught.value.message.startswith("KB configuration error: the server in the organis")
    assert url not in caught.value.message
    assert "uni-token" not in caught.value.message
