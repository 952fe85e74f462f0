"""A model that fails, and the organisation's default that answers in its place."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.chat.v1.chat_pb2 import ModelReplaced
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import (
    HeddleError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
)

from connector.provider import DONE, STOP, Exchange, Provider, provider, text
from connector.service import (
    Stub,
    as_whole,
    asked,
    events,
    failure,
    nobodys_accounts,
    service,
    text_and_failure,
)

Answers = dict[str, tuple[int, dict[str, Any]]]
UNKNOWN = (404, {"error": {"message": "No such model.", "code": "model_not_found"}})
BROKEN = (500, {"error": {"message": "It broke."}})
ANSWERED: tuple[int, dict[str, Any]] = (200, {})
Form = Callable[[pb.GenerateMessageRequest], Any]


@pytest.fixture(params=["stream", "whole"])
def form(request: pytest.FixtureRequest) -> Form:
    """How the answer is asked for."""
    return as_whole if request.param == "whole" else lambda generation: generation


@asynccontextmanager
async def bench(
    answers: Answers,
    default: str = "openai/default",
    models: Sequence[str] = (),
    **others: Settings,
) -> AsyncGenerator[tuple[Stub, Provider]]:
    """Run the service for the organisation `uni`, whose provider answers by the model."""

    async def script(exchange: Exchange) -> None:
        status, refusal = answers[exchange.json["model"]]
        if status != 200:
            await exchange.reply(status, json.dumps(refusal))
        elif exchange.json.get("stream"):
            await exchange.stream(text("hi"), STOP, DONE)
        else:
            choice = {"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}
            await exchange.reply(200, json.dumps({"model": "m", "choices": [choice]}))

    async with provider(script) as made:
        openai = Settings(base_url=f"{made.url}/v1", models=models, enabled=True)
        accounts = nobodys_accounts()
        accounts.add("uni", providers={"openai": openai, **others}, default_model=default)
        async with service(accounts) as stub:
            yield stub, made


def request(model: str = "own", connector: str = "openai", **fields: Any) -> Any:
    ref = ModelRef(connector=connector, model=model)
    assistant = Assistant(id="1", model=ref, organization="uni")
    return asked(connector, model, **{"assistant": assistant, **fields})


def sent(made: Provider) -> list[str]:
    return [exchange.json["model"] for exchange in made.exchanges]


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (UNKNOWN, "PROVIDER_REFUSED"),
        ((404, {"error": "model 'own' not found"}), "PROVIDER_REFUSED"),
        ((400, {"error": {"message": "?", "param": "model"}}), "PROVIDER_REFUSED"),
        ((400, {"error": {"message": "?", "type": "invalid_model"}}), "PROVIDER_REFUSED"),
        (BROKEN, "UPSTREAM_UNAVAILABLE"),
    ],
)
async def test_the_default_answers_for_a_model_that_fails_and_that_is_told(
    form: Form, first: tuple[int, dict[str, Any]], reason: str
) -> None:
    async with bench({"own": first, "default": ANSWERED}) as (stub, made):
        found = await events(stub, form(request()))
    assert found[0].model_replaced == ModelReplaced(
        requested="openai/own", replacement="openai/default", reason=reason
    )
    assert [event.WhichOneof("event") for event in found].count("model_replaced") == 1
    assert "".join(event.text_delta for event in found) == "hi"
    assert sent(made) == ["own", "default"]


async def test_the_default_is_asked_once_and_the_models_own_failure_is_told(form: Form) -> None:
    async with bench({"own": UNKNOWN, "default": BROKEN}) as (stub, made):
        error = await failure(stub, form(request()))
    assert isinstance(error, ProviderRefusedError)
    assert (error.message, error.metadata["provider"]) == ("No such model.", "openai")
    assert sent(made) == ["own", "default"]


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        ((401, {"error": {"message": "Wrong key."}}), ProviderRefusedError),
        ((403, {"error": {"message": "Not yours."}}), ProviderRefusedError),
        ((429, {"error": {"message": "Too many."}}), ResourceExhaustedError),
        ((408, {"error": {"message": "Too slow."}}), UnavailableError),
        ((400, {"error": {"message": "Too long.", "param": "messages"}}), ProviderRefusedError),
    ],
)
async def test_what_is_not_at_the_model_is_told_and_not_tried_with_another(
    form: Form, refusal: tuple[int, dict[str, Any]], kind: type[HeddleError]
) -> None:
    async with bench({"own": refusal, "default": ANSWERED}) as (stub, made):
        assert isinstance(await failure(stub, form(request())), kind)
    assert sent(made) == ["own"]


@pytest.mark.parametrize("default", ["", "openai/own", "ollama/m", "nowhere/m", "openai"])
async def test_without_another_default_the_failure_is_told(form: Form, default: str) -> None:
    async with bench({"own": UNKNOWN}, default) as (stub, made):
        assert (await failure(stub, form(request()))).message == "No such model."
    assert sent(made) == ["own"]


async def test_nothing_is_tried_outside_of_an_assistant(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench({"own": UNKNOWN, "default": ANSWERED}) as (_, made):
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{made.url}/v1")
        async with service() as stub:
            await failure(stub, form(request(assistant=None)))
    assert sent(made) == ["own"]


async def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    async def script(exchange: Exchange) -> None:
        exchange.begin()
        await exchange.send(text("half"))
        await exchange.send(b'data: {"error": {"message": "It broke.", "code": 500}}\n\n')
        await exchange.end()

    async with bench({"own": ANSWERED, "default": ANSWERED}) as (stub, made):
        made.script = script
        error, said = await text_and_failure(stub, request())
    assert (type(error), said) == (UnavailableError, "half")
    assert sent(made) == ["own"]


async def test_a_default_at_another_provider_answers_when_the_own_cannot_be_reached(
    form: Form,
) -> None:
    gone = Settings(base_url="http://127.0.0.1:9", enabled=True)
    async with bench({"default": ANSWERED}, ollama=gone) as (stub, made):
        found = await events(stub, form(request("llama", "ollama")))
    assert found[0].model_replaced.requested == "ollama/llama"
    assert sent(made) == ["default"]


async def test_a_provider_that_cannot_be_reached_is_not_asked_for_its_default(form: Form) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.reset()

    async with bench({}) as (stub, made):
        made.script = script
        error = await failure(stub, form(request()))
    assert "cannot be reached" in error.message
    assert set(sent(made)) == {"own"}


async def test_a_model_that_is_not_offered_is_replaced_and_that_is_told(form: Form) -> None:
    async with bench({"default": ANSWERED}, models=["small", "default"]) as (stub, made):
        found = await events(stub, form(request("gone")))
    assert found[0].model_replaced == ModelReplaced(
        requested="openai/gone", replacement="openai/default"
    )
    assert sent(made) == ["default"]
