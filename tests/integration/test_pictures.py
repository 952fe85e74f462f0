"""Pictures from end to end: a fake Gemini behind, and links that open for one person alone."""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from connector import gemini
from connector.provider import Provider, Script, provider
from gateway.tasks import METADATA, TITLE
from integration.test_organizations import Town, bearer, town
from integration.test_quotas import Tutor
from integration.whole import Transport
from openai import AsyncOpenAI

ANN = "ann@uni.example"
DRAW = {"connector": "banana_img", "model": "gemini-2.5-flash-image"}
BOTH = pytest.mark.parametrize("transport", ["grpc", "local"])


@dataclass(frozen=True)
class Studio:
    """An organisation with an assistant that draws, and the key of its user."""

    town: Town
    gemini: Provider
    key: str
    path: str

    @property
    def model(self) -> str:
        return f"lamb_assistant.{self.path.rpartition('/')[2]}"

    def sdk(self) -> AsyncOpenAI:
        return AsyncOpenAI(
            base_url=f"{self.town.client.base_url}/v1",
            api_key=self.key,
            max_retries=0,
            _strict_response_validation=True,
        )

    async def get(self, url: str, key: str) -> httpx.Response:
        return await self.town.client.get(url, headers=bearer(key))


@asynccontextmanager
async def studio(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    transport: Transport,
    script: Script,
    **setup: Any,
) -> AsyncGenerator[Studio]:
    async with provider(script) as made, town(folder, monkeypatch, transport) as here:
        text = here.providers["uni"]
        providers = {
            "banana_img": {"base_url": f"{made.url}/v1beta", "api_key": gemini.KEY},
            "openai": {"base_url": text.url, "api_key": "sk-uni"},
        }
        key = await here.operator.organization("uni", text, providers=providers, **setup)
        body = {"name": "painter", "model": DRAW, "prompt_template": "Paint: {user_input}"}
        response = await here.client.post("/assistants", json=body, headers=bearer(key))
        assert response.status_code == 201, response.text
        yield Studio(here, made, key, response.headers["location"])


def drawing() -> Script:
    return gemini.answering(gemini.content(gemini.picture()))


@BOTH
async def test_a_picture_reaches_the_client_and_its_link_opens_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    async with studio(tmp_path, monkeypatch, transport, drawing()) as here, here.sdk() as sdk:
        stream = await sdk.chat.completions.create(
            model=here.model, messages=[{"role": "user", "content": "A loom."}], stream=True
        )
        deltas = [chunk.choices[0].delta async for chunk in stream]
        [content] = [delta.content for delta in deltas if delta.content]
        assert content.startswith("![picture](")
        url = content.removeprefix("![picture](").removesuffix(")")
        [images] = [more["images"] for delta in deltas if (more := delta.model_extra or {})]

        mine = await here.get(url, here.key)
        operator = here.town.operator
        others = [
            await here.get(url, await operator.key("uni", "bob@uni.example")),
            await here.get(url, await operator.organization("school", here.town.providers["uni"])),
            await here.get(url, ""),
        ]
        asked = here.gemini.exchanges[0]

    assert (mine.status_code, mine.content) == (200, gemini.PNG)
    assert mine.headers["content-type"] == "image/png"
    assert [response.status_code for response in others] == [404, 404, 404]
    data = base64.b64encode(gemini.PNG).decode()
    assert images == [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]
    name = url.rpartition("/")[2]
    assert (tmp_path / "images" / "uni" / ANN / name).read_bytes() == gemini.PNG
    assert asked.headers["x-goog-api-key"] == gemini.KEY
    assert "A loom." in asked.json["contents"][0]["parts"][0]["text"]
    assert asked.json["contents"][0]["parts"][0]["text"].startswith("Paint:")


@pytest.mark.exhaustive
@BOTH
async def test_a_picture_of_eleven_megabytes_arrives_streamed_and_whole_and_by_its_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    large = gemini.PNG + bytes(11_000_000)
    script = gemini.answering(gemini.content(gemini.picture(large)))
    url = f"data:image/png;base64,{base64.b64encode(large).decode()}"
    async with studio(tmp_path, monkeypatch, transport, script) as here, here.sdk() as sdk:
        stream = await sdk.chat.completions.create(
            model=here.model, messages=[{"role": "user", "content": "A loom."}], stream=True
        )
        extras = [chunk.choices[0].delta.model_extra or {} async for chunk in stream]
        answer = await sdk.chat.completions.create(
            model=here.model, messages=[{"role": "user", "content": "A loom."}]
        )
        message = answer.choices[0].message
        link = (message.content or "").removeprefix("![picture](").removesuffix(")")
        opened = await here.get(link, here.key)

    images = [image for more in extras for image in more.get("images", [])]
    images += (message.model_extra or {})["images"]
    assert [image["image_url"]["url"] == url for image in images] == [True, True]
    assert opened.content == large


@BOTH
async def test_openais_sdk_makes_pictures_and_they_count_as_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    async with studio(tmp_path, monkeypatch, transport, drawing()) as here, here.sdk() as sdk:
        linked = await sdk.images.generate(model=here.model, prompt="A loom.", n=2)
        urls = [each.url or "" for each in linked.data or ()]
        opened = [(await here.get(url, here.key)).content for url in urls]
        whole = await sdk.images.generate(
            model=here.model, prompt="A loom.", size="1792x1024", response_format="b64_json"
        )
        [made] = whole.data or []
        bodies = [exchange.json for exchange in here.gemini.exchanges]
        here.town.client.headers.update(bearer(here.key))
        tutor = Tutor(here.town.client, here.town.providers["uni"], here.path, tmp_path)
        usage = await tutor.until_recorded(3)

    assert opened == [gemini.PNG] * 2
    assert len(set(urls)) == 2
    assert base64.b64decode(made.b64_json or "") == gemini.PNG
    assert bodies[-1]["generationConfig"]["imageConfig"] == {"aspectRatio": "16:9"}
    [model] = usage["models"]
    assert (model["connector"], model["requests"]) == ("banana_img", 3)
    assert (model["prompt_tokens"], model["completion_tokens"]) == (36, 3960)


@BOTH
async def test_a_picture_that_a_person_sends_reaches_gemini(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    sent = base64.b64encode(gemini.JPEG).decode()
    parts = [
        {"type": "text", "text": "Make it blue."},
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{sent}"}},
    ]
    async with studio(tmp_path, monkeypatch, transport, drawing()) as here:
        document = (await here.get(here.path, here.key)).json()
        document["capabilities"] = {"vision": True, "image_generation": True}
        await here.town.client.put(here.path, json=document, headers=bearer(here.key))
        answer = await here.town.client.post(
            "/v1/chat/completions",
            json={"model": here.model, "messages": [{"role": "user", "content": parts}]},
            headers=bearer(here.key),
        )
        [asked] = here.gemini.exchanges

    assert answer.json()["choices"][0]["message"]["images"]
    blob = {"mimeType": "image/jpeg", "data": sent}
    assert {"inlineData": blob} in asked.json["contents"][0]["parts"]


@BOTH
async def test_a_title_is_written_by_a_model_of_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    small = {"small_fast_model": {"provider": "openai", "model": "tiny"}}
    async with studio(tmp_path, monkeypatch, transport, drawing(), **small) as here:
        body = {**TITLE, "metadata": METADATA, "model": here.model}
        response = await here.town.client.post(
            "/v1/chat/completions", json=body, headers=bearer(here.key)
        )
        words = here.town.providers["uni"].bodies

    assert response.status_code == 200, response.text
    assert [asked["model"] for asked in words] == ["tiny"]
    assert not here.gemini.exchanges


@BOTH
async def test_what_gemini_refuses_reaches_the_client_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    refusal = gemini.failing(429, "RESOURCE_EXHAUSTED", f"Quota of {gemini.KEY} is used up.")
    script = gemini.answering(refusal, 429, retry_after="17")
    async with studio(tmp_path, monkeypatch, transport, script) as here:
        for path, body in (
            ("/v1/images/generations", {"prompt": "A loom."}),
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "A loom."}]}),
        ):
            response = await here.town.client.post(
                path, json={"model": here.model, **body}, headers=bearer(here.key)
            )
            assert (response.status_code, response.headers["retry-after"]) == (429, "17")
            assert "is used up" in response.json()["error"]["message"]
            assert gemini.KEY not in response.text
