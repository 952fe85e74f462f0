"""The assistant that draws, with a provider that answers as Gemini does."""

import base64
from pathlib import Path

import pytest
from connector import gemini
from connector.provider import provider
from examples.example_heddle import example

ASSISTANT = "assistants/image-maker.yaml"
REQUEST = "A loom, its parts apart."


async def test_it_draws_in_one_style_and_changes_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = base64.b64encode(gemini.PNG).decode()
    change = [
        {"type": "text", "text": "Without colours."},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
    ]
    async with provider(gemini.answering(gemini.content(gemini.picture()))) as painter:
        monkeypatch.setenv("HEDDLE_CONNECTOR_BANANA_IMG_BASE_URL", f"{painter.url}/v1beta")
        monkeypatch.setenv("HEDDLE_CONNECTOR_BANANA_IMG_API_KEY", gemini.KEY)
        async with example(tmp_path, ASSISTANT) as heddle:
            answers = [*await heddle.ask("8", REQUEST), await heddle.plain("8", change)]
            links = [answer.text.partition("](")[2].removesuffix(")") for answer in answers]
            pictures = [(await heddle.client.get(link)).content for link in links]

    assert pictures == [gemini.PNG] * 3
    prompts = [each.json["contents"][0]["parts"] for each in painter.exchanges]
    for parts in prompts:
        assert parts[0]["text"].startswith("Flat illustration for teaching material")
    assert prompts[0] == prompts[1]
    assert REQUEST in prompts[0][0]["text"]
    assert prompts[2][1] == {"inlineData": {"mimeType": "image/png", "data": picture}}


@pytest.mark.exhaustive
async def test_without_a_key_the_request_fails_and_says_so(tmp_path: Path) -> None:
    async with example(tmp_path, ASSISTANT) as heddle:
        answers = await heddle.ask("8", REQUEST)

    for answer in answers:
        assert answer.text == ""
        assert answer.error["message"].startswith(
            "The provider of the model is not set up here. Ask the operator."
        )
