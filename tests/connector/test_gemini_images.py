"""The connector `banana_img`, against a provider that speaks Gemini's REST form."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    ProviderGarbledError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
)

from connector import gemini
from connector.gemini import KEY, PNG, answering, content, failing
from connector.provider import Exchange, Provider, Script, provider
from connector.service import (
    Stub,
    answer,
    as_whole,
    asked,
    batches,
    events,
    failure,
    nobodys_accounts,
    said,
    service,
)

MODEL = "gemini-2.5-flash-image"


@asynccontextmanager
async def banana(
    script: Script, monkeypatch: pytest.MonkeyPatch, key: str = KEY
) -> AsyncGenerator[tuple[Stub, Provider]]:
    """Run the service with its `banana_img` connector pointed at a Gemini that does `script`."""
    async with provider(script) as made:
        monkeypatch.setenv("HEDDLE_CONNECTOR_BANANA_IMG_BASE_URL", f"{made.url}/v1beta")
        monkeypatch.setenv("HEDDLE_CONNECTOR_BANANA_IMG_API_KEY", key)
        async with service() as stub:
            yield stub, made


def draw(*messages: chat.Message, **fields: Any) -> pb.GenerateMessageRequest:
    return asked("banana_img", MODEL, messages or [said("A loom.")], **fields)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def sent(
    monkeypatch: pytest.MonkeyPatch, *messages: chat.Message, **fields: Any
) -> dict[str, Any]:
    """Return the body that Gemini gets for a request."""
    script = answering(content(gemini.picture()))
    async with banana(script, monkeypatch) as (stub, made):
        await events(stub, draw(*messages, **fields))
    body: dict[str, Any] = made.exchanges[0].json
    return body


@pytest.mark.parametrize("whole", [False, True])
async def test_a_picture_is_kept_for_the_person_and_told_in_one_response(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, whole: bool
) -> None:
    script = answering(content({"text": "Here:"}, gemini.picture(), {"text": "Enjoy."}))
    async with banana(script, monkeypatch) as (stub, made):
        request = as_whole(draw()) if whole else draw()
        [found] = await batches(stub, request)
        got = await stub.GetGeneratedImage(
            pb.GetGeneratedImageRequest(name=found[1].image.name), **new_call_options(5)
        )

    assert [event.WhichOneof("event") for event in found] == [
        "text_delta",
        "image",
        "text_delta",
        "done",
    ]
    assert answer(found) == "Here:\n\n\n\nEnjoy."
    kept = found[1].image
    assert (kept.media_type, kept.data) == ("image/png", PNG)
    assert got.image == kept
    file = tmp_path / "images" / "default" / "anonymous" / kept.name
    assert file.read_bytes() == PNG
    assert found[-1].done == chat.Done(
        finish_reason=chat.FINISH_REASON_STOP,
        usage=chat.Usage(
            prompt_tokens=12, completion_tokens=1320, cached_tokens=4, reasoning_tokens=30
        ),
        model=MODEL,
    )
    exchange = made.exchanges[0]
    assert (exchange.method, exchange.path) == ("POST", f"/v1beta/models/{MODEL}:generateContent")
    assert exchange.headers["x-goog-api-key"] == KEY
    assert "authorization" not in exchange.headers


async def test_gemini_gets_the_conversation_with_the_pictures_that_people_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = chat.ContentPart(image=chat.Media(data=gemini.JPEG, media_type="image/jpeg"))
    words = chat.ContentPart(text="Make it blue.")
    body = await sent(
        monkeypatch,
        said("Paint like Klee.", chat.ROLE_SYSTEM),
        said("Hello"),
        said("Hi there.", chat.ROLE_ASSISTANT),
        chat.Message(role=chat.ROLE_USER, parts=[words, image]),
        options=chat.GenerationOptions(
            temperature=0.5, top_p=0.9, max_tokens=99, stop=["END"], seed=7
        ),
    )
    data = base64.b64encode(gemini.JPEG).decode()
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "Paint like Klee."}]},
        {"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"text": "Hi there."}]},
        {
            "role": "user",
            "parts": [
                {"text": "Make it blue."},
                {"inlineData": {"mimeType": "image/jpeg", "data": data}},
            ],
        },
    ]
    assert body["generationConfig"] == {
        "responseModalities": ["TEXT", "IMAGE"],
        "temperature": 0.5,
        "topP": 0.9,
        "maxOutputTokens": 99,
        "stopSequences": ["END"],
        "seed": 7,
    }


def sized(size: object) -> chat.GenerationOptions:
    return chat.GenerationOptions(extra_json=json.dumps({"size": size}))


@pytest.mark.parametrize(
    ("size", "ratio"),
    [
        ("1024x1024", "1:1"),
        ("1024x1536", "2:3"),
        ("1792x1024", "16:9"),
        ("99999x1", "21:9"),
        ("auto", None),
    ],
)
async def test_a_size_becomes_the_nearest_ratio(
    monkeypatch: pytest.MonkeyPatch, size: str, ratio: str | None
) -> None:
    body = await sent(monkeypatch, options=sized(size))
    found = body["generationConfig"].get("imageConfig")
    assert found == (ratio and {"aspectRatio": ratio})


ADDRESS = chat.ContentPart(image=chat.Media(uri="https://e.example/a.png"))
SOUND = chat.ContentPart(audio=chat.Media(data=b"x", media_type="audio/mpeg"))


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (draw(chat.Message(role=chat.ROLE_USER, parts=[ADDRESS])), "as data only"),
        (draw(chat.Message(role=chat.ROLE_USER, parts=[SOUND])), "text and pictures only"),
        (draw(said("")), "nothing to make a picture of"),
        (draw(functions=[chat.FunctionDeclaration(name="f")]), "call no functions"),
        (draw(options=sized("big")), "size"),
        (draw(options=sized("0x9")), "size"),
        (draw(options=sized(9)), "size"),
    ],
    ids=range(7),
)
async def test_what_gemini_cannot_take_is_refused_before_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, request_: pb.GenerateMessageRequest, told: str
) -> None:
    async with banana(answering({}), monkeypatch) as (stub, made):
        error = await failure(stub, request_)
    assert isinstance(error, InvalidRequestError)
    assert told in error.message
    assert not made.exchanges


async def test_without_a_key_nobody_is_asked_and_the_error_names_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with banana(answering({}), monkeypatch, key="") as (stub, made):
        error = await failure(stub, draw())
        listed = await stub.ListModels(
            pb.ListModelsRequest(connector="banana_img"), **new_call_options(5)
        )
    assert isinstance(error, UnavailableError)
    assert "HEDDLE_CONNECTOR_BANANA_IMG_API_KEY" in error.message
    assert listed.problems[0].message == error.message
    assert not made.exchanges


async def test_an_organisation_uses_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with provider(answering(content(gemini.picture()))) as made:
        monkeypatch.setenv("HEDDLE_CONNECTOR_BANANA_IMG_API_KEY", KEY)
        accounts = nobodys_accounts(**{"ann@uni.example": "uni"})
        own = Settings(base_url=made.url, api_key="AIza-of-the-university", enabled=True)
        accounts.add("uni", providers={"banana_img": own})
        async with service(accounts) as stub:
            of_ann = Assistant(
                model=ModelRef(connector="banana_img", model=MODEL),
                owner="ann@uni.example",
                organization="uni",
            )
            await events(stub, draw(assistant=of_ann))
    assert made.exchanges[0].headers["x-goog-api-key"] == "AIza-of-the-university"


async def test_models_are_those_that_make_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = ["generateContent", "countTokens"]
    listed = [
        {
            "name": "models/gemini-2.5-flash-image",
            "displayName": "Nano Banana",
            "supportedGenerationMethods": methods,
        },
        {"name": "models/gemini-2.5-flash", "supportedGenerationMethods": methods},
        {"name": "models/imagen-image", "supportedGenerationMethods": ["predict"]},
    ]
    async with banana(answering({"models": listed}), monkeypatch) as (stub, made):
        found = await stub.ListModels(
            pb.ListModelsRequest(connector="banana_img"), **new_call_options(5)
        )
    [model] = found.models
    assert (model.ref.model, model.title) == (MODEL, "Nano Banana")
    assert model.input_kinds == [pb.INPUT_KIND_IMAGE]
    assert made.exchanges[0].path == "/v1beta/models?pageSize=1000"


async def test_no_name_of_a_model_leads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async with banana(answering(content(gemini.picture())), monkeypatch) as (stub, made):
        await events(stub, asked("banana_img", "../../files?x=", [said("A loom.")]))
    assert made.exchanges[0].path == "/v1beta/models/..%2F..%2Ffiles%3Fx%3D:generateContent"


@pytest.mark.parametrize("flagged", [[False, True], [True, True]])
async def test_of_pictures_in_thoughts_the_last_one_counts_if_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch, flagged: list[bool]
) -> None:
    parts = [
        {"text": "Let me see.", "thought": True},
        gemini.picture(gemini.GIF if flagged[0] else PNG, thought=flagged[0]),
        gemini.picture(PNG if flagged[0] else gemini.GIF, thought=flagged[1]),
    ]
    async with banana(answering(content(*parts)), monkeypatch) as (stub, _):
        found = await events(stub, draw())
    assert [event.image.data for event in found if event.HasField("image")] == [PNG]
    assert found[0].reasoning_delta == "Let me see."


async def test_words_in_place_of_a_picture_are_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async with banana(answering(content({"text": "Which loom?"})), monkeypatch) as (stub, _):
        found = await events(stub, draw())
    assert answer(found) == "Which loom?"


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "PROHIBITED_CONTENT"),
        (content(finish="IMAGE_SAFETY"), "IMAGE_SAFETY"),
        ({"candidates": [{"finishReason": "SAFETY", "finishMessage": "Try another."}]}, "Try ano"),
    ],
)
async def test_what_is_withheld_is_a_refusal_that_says_why(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], word: str
) -> None:
    async with banana(answering(given), monkeypatch) as (stub, _):
        error = await failure(stub, draw())
    assert isinstance(error, ProviderRefusedError)
    assert error.metadata["http_status"] == "400"
    assert error.metadata["provider_code"] == "content_policy_violation"
    assert word in error.message


@pytest.mark.parametrize(
    ("status", "given", "headers", "kind", "after", "http_status"),
    [
        (404, failing(404, "NOT_FOUND", "No such model."), {}, ProviderRefusedError, None, "404"),
        (503, failing(503, "UNAVAILABLE", "Overloaded."), {}, UnavailableError, None, "503"),
        (429, {}, {"retry_after": "7"}, ResourceExhaustedError, 7, "429"),
        (
            429,
            failing(
                429,
                "RESOURCE_EXHAUSTED",
                "Quota.",
                details=[{"@type": "x"}, {"@type": "RetryInfo", "retryDelay": "34.5s"}],
            ),
            {},
            ResourceExhaustedError,
            34.5,
            "429",
        ),
        (
            400,
            failing(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            {},
            ProviderRefusedError,
            None,
            "401",
        ),
        (
            403,
            failing(403, "PERMISSION_DENIED", f"No {KEY}"),
            {},
            ProviderRefusedError,
            None,
            "403",
        ),
        (200, failing(429, "RESOURCE_EXHAUSTED", KEY), {}, ResourceExhaustedError, None, "429"),
    ],
)
async def test_failures_keep_status_message_and_time_and_tell_no_key(
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    given: dict[str, Any],
    headers: dict[str, str],
    kind: type[HeddleError],
    after: float | None,
    http_status: str,
) -> None:
    async with banana(answering(given, status, **headers), monkeypatch) as (stub, _):
        error = await failure(stub, draw())
    assert isinstance(error, kind)
    assert error.metadata["http_status"] == http_status
    assert error.retry_after == after
    assert KEY not in error.message
    if given and KEY not in str(given):
        assert given["error"]["message"] in error.message


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b'{"candidates":5}',
        json.dumps(content(gemini.picture(b"%PDF-1.7 not a picture"))).encode(),
        json.dumps(content(gemini.picture(b""))).encode(),
        b'{"candidates":[{"content":{"parts":[{"inlineData":{"data":"?"}}]}}]}',
        b"{}",
        json.dumps(content(finish="NO_IMAGE")).encode(),
    ],
)
async def test_garbage_is_a_typed_error_and_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: bytes
) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, body)

    async with banana(script, monkeypatch) as (stub, _):
        assert isinstance(await failure(stub, draw()), ProviderGarbledError)
    assert not files(tmp_path)


async def test_an_answer_without_an_end_is_cut_at_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent_bytes = 0

    async def script(exchange: Exchange) -> None:
        nonlocal sent_bytes
        exchange.begin("application/json")
        while not exchange.writer.is_closing():
            await exchange.send(b" " * 1024 * 1024)
            sent_bytes += 1024 * 1024
            await asyncio.sleep(0)

    async with banana(script, monkeypatch) as (stub, _):
        error = await failure(stub, draw(), 60)
    assert isinstance(error, ProviderGarbledError)
    assert sent_bytes < 64 * 1024 * 1024


@pytest.mark.exhaustive
async def test_a_picture_of_many_megabytes_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    large = PNG + bytes(11 * 1024 * 1024)
    async with banana(answering(content(gemini.picture(large))), monkeypatch) as (stub, _):
        for request in (draw(), as_whole(draw())):
            found = await events(stub, request, 60)
            got = await stub.GetGeneratedImage(
                pb.GetGeneratedImageRequest(name=found[0].image.name), **new_call_options(30)
            )
            assert found[0].image.data == got.image.data == large
