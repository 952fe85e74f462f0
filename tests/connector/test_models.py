"""The models of all connectors."""

import json
import time
from typing import Any

import pytest
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.identity.call_metadata import new_call_options

from connector.provider import Exchange
from connector.service import Stub, asked, failure, openai_at, service

LISTED = {
    "object": "list",
    "data": [
        {"id": "z", "object": "model", "created": 1, "owned_by": "x"},
        {"id": "a", "name": "Model A", "architecture": {"input_modalities": ["text", "image"]}},
    ],
}


async def models(stub: Stub, **fields: Any) -> pb.ListModelsResponse:
    return await stub.ListModels(pb.ListModelsRequest(**fields), **new_call_options(10))


async def test_models_of_all_connectors_are_listed_in_order_and_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, json.dumps(LISTED))

    monkeypatch.setenv("HEDDLE_CONNECTOR_OLLAMA_BASE_URL", "http://127.0.0.1:1")
    async with openai_at(script, monkeypatch) as (stub, provider):
        listed = [await models(stub) for _ in range(3)][-1]
    assert [(m.ref.connector, m.ref.model) for m in listed.models] == [
        ("bypass", "debug-bypass"),
        ("bypass", "full-conversation-bypass"),
        ("bypass", "simple-bypass"),
        ("default", "default"),
        ("local", "smollm2-135m-instruct"),
        ("openai", "a"),
        ("openai", "z"),
    ]
    titled = listed.models[5]
    assert (titled.title, list(titled.input_kinds)) == ("Model A", [pb.INPUT_KIND_IMAGE])
    problems = [problem.connector for problem in listed.problems]
    assert problems == ["anthropic", "banana_img", "ollama"]
    assert [exchange.path for exchange in provider.exchanges] == ["/v1/models"]


async def test_models_come_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_MODELS", " m1, m2,,m3,")
    names, token = [], ""
    async with service() as stub:
        while True:
            page = await models(stub, connector="openai", page_size=2, page_token=token)
            names += [model.ref.model for model in page.models]
            if not (token := page.next_page_token):
                break
    assert names == ["m1", "m2", "m3"]


async def test_a_provider_that_does_not_answer_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.gone()

    async with openai_at(script, monkeypatch) as (stub, _):
        begun = time.monotonic()
        listed = await models(stub)
        took = time.monotonic() - begun
    assert took < 4
    assert "bypass" in {model.ref.connector for model in listed.models}
    assert "openai" in {problem.connector for problem in listed.problems}


@pytest.mark.parametrize("reply", [b"", b"{}", b"[1]", b"<html>"])
async def test_a_garbled_list_is_a_problem(reply: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, reply)

    async with openai_at(script, monkeypatch) as (stub, _):
        listed = await models(stub, connector="openai")
    assert [problem.connector for problem in listed.problems] == ["openai"]


async def test_without_a_key_openai_is_not_even_asked() -> None:
    async with service() as stub:
        listed = await models(stub, connector="openai")
        error = await failure(stub, asked())
    assert listed.problems[0].message == error.message
    assert "is not set up here" in error.message
