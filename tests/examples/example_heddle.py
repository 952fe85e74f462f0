"""Examples of this repository in a whole Heddle, asked as clients ask them."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from integration.browser import browser
from integration.whole import Whole, whole

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DEFAULT = "{connector: default, model: default}"


@dataclass(frozen=True)
class Answer:
    """What an assistant answered: its text, or its error, and the report of its tools."""

    text: str
    error: dict[str, Any]
    events: list[dict[str, Any]]

    @property
    def warnings(self) -> list[str]:
        """What readers are told about sources that failed."""
        reports = [each["data"] for each in self.events if each["type"] == "report"]
        return [str(warning) for report in reports for warning in report["warnings"]]

    @property
    def outcomes(self) -> dict[str, str]:
        """How the tools ended, by name."""
        reports = [each["data"] for each in self.events if each["type"] == "report"]
        return {tool["name"]: tool["outcome"] for report in reports for tool in report["tools"]}


@dataclass(frozen=True)
class Example:
    """A running Heddle with some examples."""

    heddle: Whole
    client: httpx.AsyncClient

    async def ask(self, identifier: str, question: Any, key: str = "") -> tuple[Answer, Answer]:
        """Return the plain and the streamed answer of an assistant."""
        plain = await self.plain(identifier, question, key)
        return plain, await self.streamed(identifier, question, key)

    async def plain(self, identifier: str, question: Any, key: str = "") -> Answer:
        """Return the answer of an assistant that comes as a whole."""
        response = await self._post(identifier, question, key, stream=False)
        answer = response.json()
        if "error" in answer:
            return Answer("", answer["error"], [])
        message = answer["choices"][0]["message"]
        return Answer(message["content"], {}, answer.get("heddle", []))

    async def streamed(self, identifier: str, question: Any, key: str = "") -> Answer:
        """Return the answer of an assistant that comes piece by piece."""
        response = await self._post(identifier, question, key, stream=True)
        if response.headers["content-type"].startswith("application/json"):
            return Answer("", response.json()["error"], [])
        chunks = [
            json.loads(line.removeprefix("data: "))
            for line in response.text.splitlines()
            if line.startswith("data: {")
        ]
        text = "".join(
            choice["delta"].get("content") or ""
            for chunk in chunks
            for choice in chunk.get("choices", ())
        )
        errors = [chunk["error"] for chunk in chunks if "error" in chunk]
        events = [chunk["heddle"] for chunk in chunks if "heddle" in chunk]
        return Answer(text, errors[0] if errors else {}, events)

    async def _post(
        self, identifier: str, question: Any, key: str, *, stream: bool
    ) -> httpx.Response:
        body = {
            "model": f"lamb_assistant.file-{identifier}",
            "messages": [{"role": "user", "content": question}],
            "stream": stream,
        }
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return await self.client.post("/v1/chat/completions", json=body, headers=headers)


@asynccontextmanager
async def example(folder: Path, *files: str) -> AsyncGenerator[Example]:
    """Run Heddle with files of `examples`, for example `assistants/plain.yaml`.

    Settings come from the environment. The provider `openai` answers for the default model.
    """
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        text = (EXAMPLES / name).read_text()
        (folder / name).write_text(text.replace(DEFAULT, "{connector: openai, model: scripted}"))
    async with whole(folder, "local") as heddle, browser(heddle.url, timeout=100) as client:
        yield Example(heddle, client)
