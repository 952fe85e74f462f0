"""The connector `banana_img`, against a provider with Gemini's REST API."""

import base64
import json
from pathlib import Path

import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import (
    InvalidRequestError,
    UnavailableError,
)
from heddle_runtime.identity.call_metadata import new_call_options
from structlog.testing import capture_logs

from connector import gemini
from connector.gemini import KEY, MODEL, PNG, answering, banana, content, draw, sent
from connector.provider import provider
from connector.service import (
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
    file = tmp_path / "images" / "default" / "developer" / kept.name
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


async def test_without_a_key_nobody_is_asked_and_the_log_names_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with banana(answering({}), monkeypatch, key="") as (stub, made):
        with capture_logs() as logs:
            error = await failure(stub, draw())
        listed = await stub.ListModels(
            pb.ListModelsRequest(connector="banana_img"), **new_call_options(5)
        )
    assert isinstance(error, UnavailableError)
    assert "is not set up here" in error.message
    [line] = [entry for entry in logs if entry["event"] == "call failed"]
    assert "HEDDLE_CONNECTOR_BANANA_IMG_API_KEY" in line["diagnosis"]
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
