"""Failures of Anthropic's Messages API, the list of its models, and keys of organisations."""

import json

import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import (
    HeddleError,
    ProviderGarbledError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
)
from heddle_runtime.identity.call_metadata import new_call_options

from connector import anthropic_api as api
from connector.anthropic_api import KEY, MODEL, ask, claude, end, event, messages_api, start, text
from connector.provider import Exchange, Script, provider, streaming
from connector.service import (
    as_whole,
    events,
    failure,
    nobodys_accounts,
    service,
    text_and_failure,
)

ERRORS: list[tuple[int, str, type[HeddleError]]] = [
    (400, "invalid_request_error", ProviderRefusedError),
    (401, "authentication_error", ProviderRefusedError),
    (402, "billing_error", ProviderRefusedError),
    (403, "permission_error", ProviderRefusedError),
    (404, "not_found_error", ProviderRefusedError),
    (413, "request_too_large", ProviderRefusedError),
    (429, "rate_limit_error", ResourceExhaustedError),
    (500, "api_error", UnavailableError),
    (504, "timeout_error", UnavailableError),
    (529, "overloaded_error", UnavailableError),
]
whole_and_streamed = pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])


def refusing(status: int, body: bytes, **headers: str) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(status, body, **headers)

    return script


@whole_and_streamed
@pytest.mark.parametrize(("status", "kind", "expected"), ERRORS)
async def test_an_error_keeps_its_status_its_type_and_its_message(
    status: int,
    kind: str,
    expected: type[HeddleError],
    monkeypatch: pytest.MonkeyPatch,
    *,
    whole: bool,
) -> None:
    script = refusing(status, api.failure_body(kind, "No, not now."), retry_after="7")
    async with claude(script, monkeypatch) as (stub, _):
        error = await failure(stub, as_whole(ask()) if whole else ask())
    assert type(error) is expected
    assert "No, not now." in error.message
    assert error.retry_after == 7
    assert error.metadata == {
        "provider": "anthropic",
        "http_status": str(status),
        "provider_type": kind,
    }


@pytest.mark.parametrize(("status", "kind", "expected"), ERRORS)
@pytest.mark.parametrize("joined", [False, True])
async def test_an_error_in_the_stream_comes_after_its_text(
    status: int,
    kind: str,
    expected: type[HeddleError],
    monkeypatch: pytest.MonkeyPatch,
    *,
    joined: bool,
) -> None:
    error_event = event("error", error={"type": kind, "message": "No, not now."})
    pieces = [start(), *text(0, "Hel"), error_event]
    script = streaming(b"".join(pieces)) if joined else streaming(*pieces)
    async with claude(script, monkeypatch) as (stub, _):
        error, before = await text_and_failure(stub, ask())
    assert before == "Hel"
    assert type(error) is expected
    assert "No, not now." in error.message
    assert error.metadata["http_status"] == str(status)


@pytest.mark.parametrize(
    "last",
    [
        b"",
        b"data: {oops\n\n",
        b"data: [1]\n\n",
    ],
    ids=["cut off", "no JSON", "no event"],
)
async def test_a_stream_that_goes_wrong_ends_in_an_error_after_its_text(
    last: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with claude(streaming(start(), *text(0, "Hel"), last), monkeypatch) as (stub, _):
        error, before = await text_and_failure(stub, ask())
    assert (type(error), before) == (ProviderGarbledError, "Hel")


@pytest.mark.parametrize("body", [b"{oops", b"[]", b'{"content": 1}', b"{}"])
async def test_a_whole_answer_that_is_no_message_is_garbled(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with claude(refusing(200, body), monkeypatch) as (stub, _):
        assert type(await failure(stub, as_whole(ask()))) is ProviderGarbledError


@whole_and_streamed
@pytest.mark.parametrize("status", [200, 401])
async def test_no_error_contains_the_key(
    status: int, monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    async def script(exchange: Exchange) -> None:
        error = {"type": "authentication_error", "message": f"Got {exchange.headers}"}
        if status == 200 and not whole:
            await exchange.stream(start(), event("error", error=error))
        else:
            await exchange.reply(status, json.dumps({"type": "error", "error": error}))

    key = "not-of-any-known-form"
    async with claude(script, monkeypatch, key) as (stub, _):
        error = await failure(stub, as_whole(ask()) if whole else ask())
    assert type(error) is ProviderRefusedError
    assert key not in f"{error.message} {error.metadata}"


async def test_without_a_key_nothing_is_sent_to_anthropic() -> None:
    async with service() as stub:
        error = await failure(stub, ask())
        listed = await stub.ListModels(
            pb.ListModelsRequest(connector="anthropic"), **new_call_options(5)
        )
    assert type(error) is UnavailableError
    assert "is not set up here" in error.message
    assert listed.problems[0].message == error.message


async def test_a_server_of_the_operators_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with claude(streaming(start(), *text(0, "Hi"), end()), monkeypatch, "") as (stub, server):
        await events(stub, ask())
    assert "x-api-key" not in server.exchanges[0].headers


async def test_models_are_listed_page_by_page_with_what_they_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = {
        "/v1/models?limit=1000": ("claude-b", True, api.capabilities()),
        "/v1/models?limit=1000&after_id=claude-b": ("claude-a", False, None),
    }

    async def script(exchange: Exchange) -> None:
        name, more, capabilities = pages[exchange.path]
        page = {
            "data": [json.loads(api.model_info(capabilities, name))],
            "has_more": more,
            "first_id": name,
            "last_id": name,
        }
        await exchange.reply(200, json.dumps(page))

    async with claude(script, monkeypatch) as (stub, server):
        received = await stub.ListModels(
            pb.ListModelsRequest(connector="anthropic"), **new_call_options(5)
        )
    kinds = [pb.INPUT_KIND_IMAGE, pb.INPUT_KIND_FILE]
    assert [(each.ref.model, each.title, list(each.input_kinds)) for each in received.models] == [
        ("claude-a", "Claude-A", []),
        ("claude-b", "Claude-B", kinds),
    ]
    assert {exchange.headers["x-api-key"] for exchange in server.exchanges} == {KEY}


async def test_a_list_without_an_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        page = {"data": [json.loads(api.model_info(None, "claude-a"))], "has_more": True}
        await exchange.reply(200, json.dumps(page))

    async with claude(script, monkeypatch) as (stub, server):
        await stub.ListModels(pb.ListModelsRequest(connector="anthropic"), **new_call_options(5))
    assert len(server.exchanges) == 10


async def test_models_in_the_settings_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_MODELS", "claude-a, claude-b")
    async with claude(messages_api(), monkeypatch) as (stub, server):
        received = await stub.ListModels(
            pb.ListModelsRequest(connector="anthropic"), **new_call_options(5)
        )
    assert [each.ref.model for each in received.models] == ["claude-a", "claude-b"]
    assert not server.exchanges


async def test_a_model_that_does_not_exist_is_not_found_by_its_capabilities_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = refusing(404, api.failure_body("not_found_error", "model: claude-0"))
    async with claude(script, monkeypatch) as (stub, server):
        options = api.extra(reasoning_effort="low")
        error = await failure(stub, ask(options=options))
    assert type(error) is ProviderRefusedError
    assert error.message == "model: claude-0"
    paths = [exchange.path for exchange in server.exchanges]
    assert paths == [f"/v1/models/{MODEL}", "/v1/messages"]


async def test_no_name_of_a_model_leads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    script = refusing(404, api.failure_body("not_found_error", "model: x"))
    async with claude(script, monkeypatch) as (stub, server):
        request = ask(options=api.extra(reasoning_effort="low"))
        request.model.model = "../files?x="
        await failure(stub, request)
    assert server.exchanges[0].path == "/v1/models/..%2Ffiles%3Fx%3D"


@whole_and_streamed
async def test_an_organisation_uses_its_own_key_at_its_own_address(
    monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    own_key = "sk-ant-api03-of-the-university-0123456789"
    reply = api.message({"type": "text", "text": "Hi"})
    script = messages_api(start(), *text(0, "Hi"), end(), whole=reply)
    monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_MAX_TOKENS", "7")
    async with provider(script) as own:
        accounts = nobodys_accounts(**{"ann@uni.example": "uni"})
        accounts.add(
            "uni",
            providers={
                "anthropic": Settings(
                    base_url=own.url, api_key=own_key, models=[MODEL], enabled=True
                )
            },
        )
        accounts.add("poor")
        requests = []
        for organization in ("uni", "poor"):
            model = ModelRef(connector="anthropic", model=MODEL)
            request = ask(assistant=Assistant(id="1", model=model, organization=organization))
            requests.append(as_whole(request) if whole else request)
        async with service(accounts) as stub:
            await events(stub, requests[0])
            error = await failure(stub, requests[1])
    assert [exchange.headers["x-api-key"] for exchange in own.exchanges] == [own_key]
    assert own.exchanges[0].json["max_tokens"] == 16_000  # the operator's setting is not used
    assert "has not set up the provider 'anthropic'" in error.message
