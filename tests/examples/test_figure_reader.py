"""The figure reader, with a vision model that follows a script: each question takes its own way."""

import base64
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from examples.serving import Served, served
from integration.functions.upstream import Upstream, says, scripted
from integration.test_agent import stream_answer
from PIL import Image

SEEN = "The cooling water enters the condenser C at its lower end."


@dataclass(frozen=True)
class Reader:
    """The example, and the model that sees its pages."""

    served: Served
    eyes: Upstream

    async def ask(self, question: str) -> list[dict[str, Any]]:
        """Return what happened on the way to an answer."""
        chunks, _ = await stream_answer(self.served.client, question)
        return [chunk["heddle"] for chunk in chunks if "heddle" in chunk]


@pytest.fixture
async def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Reader]:
    async with scripted([[says(SEEN)]]) as eyes:
        monkeypatch.setenv("HEDDLE_KNOWLEDGE_VLM_URL", eyes.url)
        monkeypatch.setenv("HEDDLE_KNOWLEDGE_VLM_MODEL", "a-model-that-sees")
        async with served(tmp_path, "figure-reader", collections=["lab-manual"]) as example:
            yield Reader(example, eyes)


def tools(happened: list[dict[str, Any]]) -> list[str]:
    """Return the tools that the rules chose."""
    decisions = [each["data"] for each in happened if each["type"] == "decision"]
    return [choice["tool"] for each in decisions for choice in each["choices"]]


@pytest.mark.exhaustive
async def test_each_question_takes_its_own_way_to_an_answer(reader: Reader) -> None:
    question = "Where does the water enter in the diagram of the apparatus?"

    happened = await reader.ask(question)

    assert tools(happened) == ["colqwen_search", "visual_interpretation", "text_response"]
    [shown] = reader.eyes.bodies
    text, picture = shown["messages"][-1]["content"]
    assert question in text["text"]
    header, data = picture["image_url"]["url"].split(",")
    assert header == "data:image/webp;base64"
    with Image.open(BytesIO(base64.b64decode(data))) as page:
        assert page.width < page.height  # A4, with the figure
    prompt = reader.served.prompts[-1]
    assert SEEN in prompt
    assert "(Laboratory manual: simple distillation, page 2)" in prompt

    happened = await reader.ask("What is the flask filled with?")

    assert tools(happened) == ["fast_vector_search", "text_response"]
    assert "Fill 100 ml of the mixture into the flask" in reader.served.prompts[-1]

    assert tools(await reader.ask("Hello!")) == ["text_response"]
    assert len(reader.eyes.bodies) == 1


@pytest.mark.exhaustive
async def test_without_a_manual_the_model_learns_what_failed(tmp_path: Path) -> None:
    async with served(tmp_path, "figure-reader") as example:
        await example.ask("Show me the diagram of the apparatus")

        assert "lab-manual" in example.prompts[-1]
