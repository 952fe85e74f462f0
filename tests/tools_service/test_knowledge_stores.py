"""LAMB's knowledge stores, through the tools service and the knowledge service."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from heddle.account.v1 import account_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_migration_service.searches.settings import SearchSettings
from heddle_runtime.errors import HeddleError, ToolFailedError, UnavailableError
from heddle_runtime.http.egress import SETTING
from knowledge.kb_server import KnowledgeBaseServer, hit, kb_server
from knowledge.store_server import TOKEN, Store, StoreServer, store_server
from runtime.accounts import SECRET, Accounts, serving_accounts
from structlog.testing import capture_logs
from tools_service import serving
from tools_service.services import services
from tools_service.serving import Client, text_of

KEY, COLLEGES_KEY = "sk-of-the-university", "sk-of-the-college"
ENDPOINT = "https://embeddings.uni.example/v1"
ANN = {"owner": "ann@uni.example", "organization": "uni"}
EVE = {"owner": "eve@college.example", "organization": "college"}
CONFIG = {"collections": ["physics"]}
NOT_SEARCHED = "Collection 'physics' was not searched: "
MISSING = f"{NOT_SEARCHED}the knowledge-base server has no such collection (404)."


@pytest.fixture
async def server() -> AsyncGenerator[StoreServer]:
    """The operator's, which has stores of two organisations."""
    of_uni = Store(("Sheds.", "Looms."), KEY, ENDPOINT, {"source_title": "Weaving"})
    async with store_server(physics=of_uni, arts=Store(("Colours.",), COLLEGES_KEY)) as server:
        yield server


def known() -> Accounts:
    """Return two organisations with a store and a key each."""
    accounts = Accounts(owners={ANN["owner"]: "uni", EVE["owner"]: "college"})  # type: ignore[abstract] # it does not offer every method
    accounts.add("uni", providers={"openai": account_pb2.Provider(api_key=KEY)})
    accounts.add("college", providers={"openai": account_pb2.Provider(api_key=COLLEGES_KEY)})
    accounts.stores = [
        account_pb2.RegisteredStore(
            id="physics",
            organization="uni",
            embedding_vendor="openai",
            embedding_endpoint=ENDPOINT,
        ),
        account_pb2.RegisteredStore(id="arts", organization="college", embedding_vendor="openai"),
    ]
    return accounts


@asynccontextmanager
async def tools(folder: Path, accounts: Accounts, **settings: Any) -> AsyncGenerator[Client]:
    common = {SETTING: "127.0.0.0/8", "HEDDLE_IDENTITY_SECRET": SECRET} | settings
    async with (
        serving_accounts(accounts) as service,
        services(folder, assistants_address=service.address, **common) as both,
    ):
        yield both.client


def at(server: StoreServer) -> dict[str, str]:
    return {"LAMB_KB_SERVER_V2": f"{server.url}/", "LAMB_KB_SERVER_V2_TOKEN": TOKEN}


def context(*words: str, **of: str) -> pb.RunContext:
    return serving.said(*words, secret=SECRET, **of)


async def refused(client: Client, of: dict[str, str], config: Any = None) -> str:
    with pytest.raises(ToolFailedError) as caught:
        await client.run("simple_rag", config or CONFIG, context("?", **of))
    return caught.value.message


@pytest.mark.parametrize("tool", ["simple_rag", "context_aware_rag", "hierarchical_rag"])
async def test_a_store_is_searched_with_the_token_of_its_server_and_the_key_of_its_organisation(
    tmp_path: Path, server: StoreServer, tool: str
) -> None:
    async with tools(tmp_path, known(), **at(server)) as client:
        _, result = await client.run(tool, CONFIG | {"top_k": 2}, context("Why?", **ANN))
    assert text_of(result) == "Sheds.\n\nLooms."
    assert server.bodies == [
        {
            "query_text": "Why?",
            "top_k": 2,
            "embedding_credentials": {"api_key": KEY, "api_endpoint": ENDPOINT},
        }
    ]


async def test_each_organisation_searches_its_own_stores_with_its_own_key(
    tmp_path: Path, server: StoreServer
) -> None:
    async with tools(tmp_path, known(), **at(server)) as client:
        await client.run("simple_rag", CONFIG, context("?", **ANN))
        _, result = await client.run("simple_rag", {"collections": ["arts"]}, context("?", **EVE))
    assert text_of(result) == "Colours."
    assert server.keys == [KEY, COLLEGES_KEY]


async def test_a_store_of_another_organisation_seems_missing_and_reaches_no_server(
    tmp_path: Path, server: StoreServer
) -> None:
    async with kb_server(answers={"physics": {"results": [hit("stolen")]}}) as other:
        accounts = known()
        own = account_pb2.KnowledgeServer(url=other.url, token="t")
        accounts.settings["college"].knowledge.CopyFrom(own)
        accounts.settings["college"].knowledge_store.CopyFrom(own)
        async with tools(tmp_path, accounts, **at(server)) as client:
            message = await refused(client, EVE)
            unknown = await refused(client, EVE, {"collections": ["never-made"]})
            both = {"collections": ["physics", "arts"]}
            accounts.settings["college"].ClearField("knowledge_store")
            async with tools(tmp_path / "2", accounts, **at(server)) as another:
                _, result = await another.run("simple_rag", both, context("?", **EVE))
    assert message == unknown.replace("never-made", "physics") == MISSING
    assert other.paths == ["/collections/never-made/query"]
    assert text_of(result) == "Colours."
    assert server.keys == [COLLEGES_KEY]


async def test_without_any_knowledge_base_server_such_a_store_seems_missing_as_well(
    tmp_path: Path, server: StoreServer
) -> None:
    async with tools(tmp_path, known(), **at(server)) as client:
        message = await refused(client, EVE)
        unknown = await refused(client, EVE, {"collections": ["never-made"]})
    assert message == unknown.replace("never-made", "physics")
    assert not server.bodies


async def test_an_organisation_has_its_stores_at_the_server_in_its_settings(
    tmp_path: Path, server: StoreServer
) -> None:
    async with store_server(physics=Store(("Its own.",), KEY, ENDPOINT)) as own:
        own.token = "uni-token"
        accounts = known()
        accounts.settings["uni"].knowledge_store.url = own.url
        accounts.settings["uni"].knowledge_store.token = "uni-token"
        async with tools(tmp_path, accounts, **at(server)) as client:
            _, result = await client.run("simple_rag", CONFIG, context("?", **ANN))
        async with tools(tmp_path / "2", accounts, **at(server), **{SETTING: ""}) as client:
            message = await refused(client, ANN)
    assert text_of(result) == "Its own."
    assert len(own.bodies) == 1
    assert not server.bodies
    assert SETTING in message


async def test_the_operators_token_goes_to_no_server_of_an_organisation(
    tmp_path: Path, server: StoreServer
) -> None:
    async with store_server() as own:
        accounts = known()
        accounts.settings["uni"].knowledge_store.url = own.url
        async with tools(tmp_path, accounts, **at(server)) as client:
            message = await refused(client, ANN)
    assert "Authorization" not in own.requests[0].headers
    assert message == (
        "KB configuration error: the knowledge-store server refuses the token (401); correct "
        "knowledge_store.api_token in the organisation's settings"
    )


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({}, "set knowledge_store in the organisation's settings, or HEDDLE_KNOWLEDGE_LAMB_STORES"),
        ({"LAMB_KB_SERVER_V2_TOKEN": "wrong"}, "correct HEDDLE_KNOWLEDGE_LAMB_STORES_TOKEN"),
    ],
    ids=["no server", "wrong token"],
)
async def test_wrong_settings_of_the_operator_fail_with_the_remedy(
    tmp_path: Path, server: StoreServer, settings: dict[str, str], remedy: str
) -> None:
    common = at(server) | settings if settings else {}
    async with tools(tmp_path, known(), **common) as client:
        message = await refused(client, ANN)
    assert message.startswith("KB configuration error: ")
    assert remedy in message


async def test_the_error_of_a_missing_key_names_its_place_and_no_other_key_is_sent(
    tmp_path: Path, server: StoreServer
) -> None:
    accounts = known()
    accounts.add("uni", providers={"ollama": account_pb2.Provider(api_key=COLLEGES_KEY)})
    async with tools(tmp_path, accounts, **at(server)) as client:
        message = await refused(client, ANN)
    assert "has no key of 'openai'" in message
    assert "set providers.openai.api_key in the organisation's settings" in message
    assert not server.bodies


@pytest.mark.parametrize("vendor", ["local", "ollama"])
async def test_embeddings_that_need_no_key_are_searched_without(
    tmp_path: Path, vendor: str
) -> None:
    accounts = known()
    accounts.stores[0].embedding_vendor = vendor
    async with (
        store_server(physics=Store(("Free.",), "", ENDPOINT)) as server,
        tools(tmp_path, accounts, **at(server)) as client,
    ):
        _, result = await client.run("simple_rag", CONFIG, context("?", **ANN))
    assert text_of(result) == "Free."


async def test_a_server_that_is_down_or_has_lost_the_store_is_an_error(
    tmp_path: Path, server: StoreServer
) -> None:
    settings = at(server)
    async with tools(tmp_path, known(), **settings) as client:
        del server.stores["physics"]
        lost = await refused(client, ANN)
    async with store_server() as gone:
        settings = at(gone)
    async with tools(tmp_path / "2", known(), **settings) as client:
        with pytest.raises(UnavailableError) as caught:
            await client.run("simple_rag", CONFIG, context("?", **ANN))
    assert lost == f"{NOT_SEARCHED}the knowledge-store server has no such collection (404)."
    assert caught.value.message == f"{NOT_SEARCHED}the knowledge-store server does not answer."


async def test_a_refused_key_is_an_error_that_shows_no_secret(
    tmp_path: Path, server: StoreServer
) -> None:
    accounts = known()
    accounts.add("uni", providers={"openai": account_pb2.Provider(api_key="sk-expired-expired")})
    with capture_logs() as logs:
        async with tools(tmp_path, accounts, **at(server)) as client:
            with pytest.raises(HeddleError) as caught:
                await client.run("simple_rag", CONFIG, context("?", **ANN))
    assert server.keys[0] == "sk-expired-expired"
    assert caught.value.message.startswith(f"{NOT_SEARCHED}the knowledge-store server answered 500")
    assert "providers.openai.api_key" in caught.value.message
    shown = caught.value.message + json.dumps(logs, default=repr)
    assert not [each for each in ("sk-expired", TOKEN, "Incorrect API key") if each in shown]


async def test_an_organisation_that_is_closed_searches_nothing(
    tmp_path: Path, server: StoreServer
) -> None:
    accounts = known()
    del accounts.settings["uni"]
    async with tools(tmp_path, accounts, **at(server)) as client:
        message = await refused(client, ANN)
    assert message == MISSING
    assert not server.bodies


async def test_a_threshold_holds_for_stores_as_well(tmp_path: Path, server: StoreServer) -> None:
    async with tools(tmp_path, known(), **at(server)) as client:
        config = CONFIG | {"threshold": 0.45}
        _, result = await client.run("simple_rag", config, context("?", **ANN))
    assert text_of(result) == "Sheds."


async def test_knowledge_bases_stay_at_their_own_server(
    tmp_path: Path, server: StoreServer
) -> None:
    async with kb_server(answers={"17": {"results": [hit("of a base")]}}) as bases:
        accounts = known()
        accounts.settings["uni"].knowledge.url = bases.url
        async with tools(tmp_path, accounts, **at(server)) as client:
            config = {"collections": ["physics", "17"], "top_k": 1}
            _, result = await client.run("simple_rag", config, context("?", **ANN))
    assert text_of(result) == "Sheds.\n\nof a base"
    assert "embedding_credentials" not in bases.bodies[0]
    assert_no_secret(bases)


def assert_no_secret(bases: KnowledgeBaseServer) -> None:
    sent = repr((bases.headers, bases.bodies))
    assert KEY not in sent
    assert TOKEN not in sent


def test_heddles_name_of_a_setting_comes_before_lambs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMB_KB_SERVER_V2", "http://lambs:9092/")
    monkeypatch.setenv("LAMB_KB_SERVER_V2_TOKEN", "lambs")
    assert SearchSettings().lamb_stores_url == "http://lambs:9092"
    assert SearchSettings().lamb_stores_token.get_secret_value() == "lambs"
    monkeypatch.setenv("HEDDLE_KNOWLEDGE_LAMB_STORES_URL", "http://own:9092")
    assert SearchSettings().lamb_stores_url == "http://own:9092"
