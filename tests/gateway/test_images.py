"""Pictures in answers, by OpenAI's own route, and by themselves."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from gateway.conftest import Bench, Start
from gateway.neighbours import DONE, text
from gateway.test_openai_sdk import HI
from heddle.chat.v1.chat_pb2 import GeneratedImage, ModelReplaced
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle_gateway.app import GatewaySettings
from heddle_runtime.errors import ProviderRefusedError, ResourceExhaustedError
from openai import AsyncOpenAI
from pydantic import ValidationError

SECRET = "a-secret-of-at-least-32-characters"
LOOM = GeneratedImage(
    name=f"{'0a' * 16}.png", media_type="image/png", data=b"\x89PNG\r\n\x1a\nloom"
)
DRAWN = RunEvent(image=LOOM)
DATA = f"data:image/png;base64,{base64.b64encode(LOOM.data).decode()}"
IMAGES = [{"type": "image_url", "image_url": {"url": DATA}}]


@pytest.fixture
async def sdk(bench: Bench) -> AsyncIterator[AsyncOpenAI]:
    bench.orchestrator.script = [[text("Here:\n\n"), DRAWN, DONE]]
    async with bench.openai() as client:
        yield client


def link(bench: Bench) -> str:
    return f"{bench.url}/v1/pictures/{LOOM.name}"


async def ask(bench: Bench, **body: Any) -> Any:
    asked = {"model": "lamb_assistant.1", "prompt": "A loom.", **body}
    return await bench.client.post("/v1/images/generations", json=asked)


async def test_a_stream_has_the_picture_and_its_link_in_one_chunk(
    sdk: AsyncOpenAI, bench: Bench
) -> None:
    stream = await sdk.chat.completions.create(model="lamb_assistant.1", messages=HI, stream=True)
    deltas = [chunk.choices[0].delta async for chunk in stream]
    [drawn] = [delta for delta in deltas if (delta.model_extra or {}).get("images")]
    assert drawn.content == f"![picture]({link(bench)})"
    assert drawn.model_extra == {"images": IMAGES}
    assert "".join(delta.content or "" for delta in deltas) == f"Here:\n\n{drawn.content}"


async def test_a_whole_answer_has_both(sdk: AsyncOpenAI, bench: Bench) -> None:
    answer = await sdk.chat.completions.create(model="lamb_assistant.1", messages=HI)
    message = answer.choices[0].message
    assert message.content == f"Here:\n\n![picture]({link(bench)})"
    assert message.model_extra is not None
    assert message.model_extra["images"] == IMAGES


async def test_the_helper_that_accumulates_a_stream_keeps_the_text(
    sdk: AsyncOpenAI, bench: Bench
) -> None:
    async with sdk.chat.completions.stream(model="lamb_assistant.1", messages=HI) as stream:
        answer = await stream.get_final_completion()
    assert answer.choices[0].message.content == f"Here:\n\n![picture]({link(bench)})"


async def test_openais_sdk_gets_links(sdk: AsyncOpenAI, bench: Bench) -> None:
    answer = await sdk.images.generate(
        model="lamb_assistant.1", prompt="A loom.", n=3, size="1024x1536", quality="high", user="u"
    )
    assert [(each.url, each.b64_json) for each in answer.data or ()] == [(link(bench), None)] * 3
    assert bench.orchestrator.whole_requests == 3
    asked = bench.orchestrator.requests[0]
    assert asked.assistant_reference == "lamb_assistant.1"
    assert [part.text for part in asked.messages[0].parts] == ["A loom."]
    assert asked.options.extra_json == '{"size":"1024x1536"}'


async def test_openais_sdk_gets_the_pictures_themselves(sdk: AsyncOpenAI) -> None:
    answer = await sdk.images.generate(
        model="lamb_assistant.1", prompt="A loom.", response_format="b64_json"
    )
    [generated] = answer.data or []
    assert base64.b64decode(generated.b64_json or "") == LOOM.data
    assert generated.url is None


async def test_openais_sdk_streams_the_pictures(sdk: AsyncOpenAI) -> None:
    stream = await sdk.images.generate(
        model="lamb_assistant.1", prompt="A loom.", n=2, size="1024x1536", stream=True
    )
    events = [event async for event in stream]
    assert [event.type for event in events] == ["image_generation.completed"] * 2
    assert {base64.b64decode(event.b64_json) for event in events} == {LOOM.data}
    (event, _) = events
    assert event.type == "image_generation.completed"
    assert (event.size, event.usage.total_tokens) == ("1024x1536", 10)


async def test_openais_sdk_raises_its_own_errors(sdk: AsyncOpenAI, bench: Bench) -> None:
    bench.orchestrator.script = [ResourceExhaustedError("Slow down.", retry_after=7)]
    with pytest.raises(openai.RateLimitError) as caught:
        await sdk.images.generate(model="lamb_assistant.1", prompt="A loom.", n=2)
    assert caught.value.response.headers["retry-after"] == "7"


async def test_a_refusal_keeps_its_words(bench: Bench) -> None:
    code = "content_policy_violation"
    refused = ProviderRefusedError("Withheld.", http_status="400", provider_code=code)
    bench.orchestrator.script = [refused]
    response = await ask(bench)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == code
    assert response.json()["error"]["message"] == "Withheld."


async def test_an_assistant_that_only_talks_is_told_so(bench: Bench) -> None:
    response = await ask(bench)
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["code"], error["param"]) == ("no_picture", "model")
    assert error["message"].endswith("The text: Hello")


async def test_words_of_another_model_are_told_as_such(bench: Bench) -> None:
    told = RunEvent(model_replaced=ModelReplaced(requested="banana_img/a", replacement="openai/b"))
    bench.orchestrator.script = [[told, text("Hello"), DONE]]
    message = (await ask(bench)).json()["error"]["message"]
    assert "banana_img/a is not available, openai/b answers" in message


async def test_another_model_is_told(bench: Bench) -> None:
    told = RunEvent(
        model_replaced=ModelReplaced(requested="banana_img/a", replacement="banana_img/b")
    )
    bench.orchestrator.script = [[told, DRAWN, DONE]]
    response = await ask(bench)
    assert response.headers["x-heddle-warning"].startswith("banana_img/a is not available")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"model": None}, "model"),
        ({"model": "m" * 257}, "model"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": ["A loom."]}, "prompt"),
        ({"n": 0}, "n"),
        ({"n": 5}, "n"),
        ({"n": True}, "n"),
        ({"size": "large"}, "size"),
        ({"size": "0x1024"}, "size"),
        ({"size": 1024}, "size"),
        ({"response_format": "png"}, "response_format"),
        ({"stream": "yes"}, "stream"),
    ],
)
async def test_a_wrong_request_names_what_is_wrong(
    start: Start, body: dict[str, Any], param: str
) -> None:
    async with start() as bench:
        response = await ask(bench, **body)
        assert response.status_code == 400
        assert response.json()["error"]["param"] == param
        assert not bench.orchestrator.requests


async def test_a_picture_is_served_as_nothing_but_a_picture(start: Start) -> None:
    async with start("rpc", secret=SECRET) as bench:
        bench.neighbours.connectors.pictures["operator", LOOM.name] = LOOM
        response = await bench.client.get(f"/v1/pictures/{LOOM.name}")
    assert response.status_code == 200
    assert response.content == LOOM.data
    assert response.headers["content-type"] == "image/png"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"].startswith("private,")
    assert response.headers["vary"] == "authorization"


async def test_a_picture_whose_type_cannot_be_sent_is_a_failure(start: Start) -> None:
    bent = GeneratedImage(name=LOOM.name, media_type="image/png\r\nset-cookie: a=b", data=LOOM.data)
    async with start("rpc", secret=SECRET) as bench:
        bench.neighbours.connectors.pictures["operator", LOOM.name] = bent
        response = await bench.client.get(f"/v1/pictures/{LOOM.name}")
    assert response.status_code == 500
    assert "set-cookie" not in response.headers


async def test_a_picture_of_somebody_else_or_without_a_key_is_not_served(start: Start) -> None:
    path = f"/v1/pictures/{LOOM.name}"
    async with start("rpc", secret=SECRET) as bench:
        bench.neighbours.connectors.pictures["bob", LOOM.name] = LOOM
        foreign = await bench.client.get(path)
        missing = await bench.client.get(f"/v1/pictures/{'1b' * 16}.png")
        keyless = await bench.client.get(path, headers={"authorization": ""})
    assert (foreign.status_code, keyless.status_code) == (404, 401)
    assert foreign.json() == missing.json()


@pytest.mark.parametrize("name", ["%ff.png", "%00", "%0a", "..%2f..%2fetc%2fpasswd", "a" * 3000])
async def test_strange_names_are_missing_pictures(bench: Bench, name: str) -> None:
    assert (await bench.client.get(f"/v1/pictures/{name}")).status_code == 404


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("heddle.example", "http://heddle.example"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("evil)[x](http://e", ""),
        ("a/b", ""),
    ],
)
async def test_links_lead_to_where_the_request_was_sent(start: Start, host: str, base: str) -> None:
    async with start() as bench:
        bench.orchestrator.script = [[DRAWN, DONE]]
        response = await bench.chat(headers={"host": host})
        content = response.json()["choices"][0]["message"]["content"]
        assert content == f"![picture]({base}/v1/pictures/{LOOM.name})"


async def test_links_lead_to_the_public_address_if_there_is_one(start: Start) -> None:
    async with start(public_url="https://ai.example/heddle/") as bench:
        bench.orchestrator.script = [[DRAWN, DONE]]
        [generated] = (await ask(bench)).json()["data"]
        assert generated["url"] == f"https://ai.example/heddle/v1/pictures/{LOOM.name}"


@pytest.mark.parametrize("url", ["ai.example", "ftp://e", "https://e/)x", "https://e?a=b"])
def test_a_public_address_must_be_one(url: str) -> None:
    with pytest.raises(ValidationError):
        GatewaySettings(development=True, public_url=url)
