"""Assistants that answer with the default model of their organisation."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import NoModelError
from heddle_runtime.identity.call_metadata import new_call_options
from runtime.accounts import Accounts

from connector.provider import Exchange, Provider, provider
from connector.service import Stub, events, failure, nobodys_accounts, service

REPLY = {"model": "m", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}


def request(organization: str = "", owner: str = "") -> pb.GenerateWholeMessageRequest:
    ref = ModelRef(connector="default", model="default")
    assistant = Assistant(id="1", model=ref, organization=organization, owner=owner)
    message = chat_pb2.Message(
        role=chat_pb2.ROLE_USER, parts=[chat_pb2.ContentPart(text="Say hello.")]
    )
    generation = pb.GenerateMessageRequest(model=ref, messages=[message], assistant=assistant)
    return pb.GenerateWholeMessageRequest(generation=generation)


@asynccontextmanager
async def bench() -> AsyncGenerator[tuple[Accounts, Provider, Stub]]:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, json.dumps(REPLY))

    accounts = nobodys_accounts(**{"ann@uni.example": "uni"})
    async with provider(script) as upstream, service(accounts) as stub:
        yield accounts, upstream, stub


@pytest.mark.parametrize(
    ("set_up", "expected"),
    [
        ({"default_model": "openai/chosen"}, "openai/chosen"),
        ({"default_model": "openai/forbidden", "models": ["only"]}, "openai/only"),
        ({"models": ["first", "second"]}, "openai/first"),
        ({"models": ["first", "second"], "usual": "second"}, "openai/second"),
        ({"models": ["first"], "enabled": False}, ""),
        ({}, ""),
        ({"default_model": "default/default"}, ""),
        ({"default_model": "openai/chosen", "connector": "banana_img"}, ""),
        ({"models": ["picture"], "connector": "banana_img"}, ""),
    ],
)
async def test_the_default_model_is_the_chosen_one_or_the_first_that_is_set_up(
    set_up: dict[str, object], expected: str
) -> None:
    async with bench() as (accounts, upstream, stub):
        settings = Settings(
            base_url=f"{upstream.url}/v1",
            api_key="k",
            enabled=bool(set_up.get("enabled", True)),
            models=set_up.get("models", []),  # type: ignore[arg-type] # names
            default_model=str(set_up.get("usual", "")),
        )
        connector = str(set_up.get("connector", "openai"))
        default = str(set_up.get("default_model", ""))
        accounts.add("uni", providers={connector: settings}, default_model=default)
        call = request("uni")
        if not expected:
            assert type(await failure(stub, call)) is NoModelError
            assert upstream.exchanges == []
            return
        received = await events(stub, call)
        assert [event.WhichOneof("event") for event in received] == ["text_delta", "done"]
        assert received[-1].done.substitute == expected
        assert [f"openai/{exchange.json['model']}" for exchange in upstream.exchanges] == [expected]


@pytest.mark.parametrize("of", [{}, {"owner": "nobody"}, {"organization": "default"}])
async def test_an_assistant_of_the_operator_uses_the_default_of_the_operators_organisation(
    of: dict[str, str],
) -> None:
    async with bench() as (accounts, upstream, stub):
        settings = Settings(base_url=f"{upstream.url}/v1", api_key="own", enabled=True)
        accounts.add(
            "default", system=True, providers={"openai": settings}, default_model="openai/m"
        )
        await events(stub, request(**of))
        assert [each.headers["authorization"] for each in upstream.exchanges] == ["Bearer own"]


async def test_the_list_of_models_names_the_default_model() -> None:
    async with bench() as (accounts, upstream, stub):
        accounts.add("default", system=True)
        listing = pb.ListModelsRequest(connector="default")
        listed = await stub.ListModels(listing, **new_call_options(10))
        assert [each.ref.model for each in listed.models] == ["default"]
        assert listed.default_model == ""
        openai = Settings(base_url=f"{upstream.url}/v1", enabled=True, models=["m"])
        accounts.add("default", system=True, providers={"openai": openai})
    async with service(accounts) as stub:
        listed = await stub.ListModels(listing, **new_call_options(10))
        assert listed.default_model == "openai/m"


async def test_the_models_of_the_environment_are_a_default_for_the_operator_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accounts = nobodys_accounts()
    monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_MODELS", "first,second")
    accounts.add("default", system=True)
    accounts.add("uni")
    async with service(accounts) as stub:
        listed = await stub.ListModels(pb.ListModelsRequest(), **new_call_options(10))
        assert listed.default_model == "openai/first"
        assert type(await failure(stub, request("uni"))) is NoModelError
