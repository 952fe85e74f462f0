"""A quota over REST: answers until it is spent, then none, and no tool runs for them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.browser import browser
from integration.provider import Provider, providing
from integration.whole import Transport, whole

TOOL = '''
from pathlib import Path
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool


@tool("recording", title="Recording", slot="context")
def recording(call: ToolCall[ToolConfig]) -> ToolResult:
    """Writes down that it ran."""
    with Path({path!r}).open("a") as file:
        file.write("ran\\n")
    return ToolResult("found")
'''
PRICES = {"openai/m": {"input": 1, "output": 1}}
ANSWER = 8e-6
"""US dollars: three tokens asked, five answered, at a dollar for a million."""
TITLE = {"task": "title_generation"}


@dataclass
class Tutor:
    """An assistant with a quota, its provider, and what its tool wrote down."""

    client: httpx.AsyncClient
    provider: Provider
    path: str
    ran: Path

    async def ask(self, **more: Any) -> httpx.Response:
        messages = [{"role": "user", "content": "?"}]
        body = {"model": f"lamb_assistant.{self.path[-1]}", "messages": messages, **more}
        return await self.client.post("/v1/chat/completions", json=body)

    async def limit(self, dollars: object) -> None:
        """Change the limit, as an editor does."""
        document = (await self.client.get(self.path)).json()
        document["extra"]["quota"]["cost_limit_usd"] = dollars
        (await self.client.put(self.path, json=document)).raise_for_status()

    async def used(self) -> Any:
        return (await self.client.get(f"{self.path}/usage")).json()

    async def until_recorded(self, requests: int) -> Any:
        """Return the usage when it has so many answers."""
        async with asyncio.timeout(10):
            while True:
                told = await self.used()
                if sum(model["requests"] for model in told["models"]) >= requests:
                    return told
                await asyncio.sleep(0.05)

    def runs(self) -> tuple[int, int]:
        """Return how often the tool ran and the model was asked."""
        ran = len(self.ran.read_text().splitlines()) if self.ran.exists() else 0
        return ran, len(self.provider.bodies)


@asynccontextmanager
async def tutoring(
    folder: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> AsyncIterator[Tutor]:
    """Run all of Heddle with an assistant that may spend three millionths of a dollar."""
    ran = folder / "ran"
    (folder / "plugins").mkdir()
    (folder / "plugins" / "recording.py").write_text(TOOL.replace("{path!r}", repr(str(ran))))
    (folder / "prices.json").write_text(json.dumps(PRICES))
    monkeypatch.setenv("HEDDLE_TOOLS_SANDBOX", "off")  # the tool writes to a file
    monkeypatch.setenv("HEDDLE_ASSISTANTS_PRICES", str(folder / "prices.json"))
    async with providing() as provider:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", provider.url)
        async with (
            whole(folder, transport) as heddle,
            browser(heddle.url, timeout=30) as client,
        ):
            made = await client.post(
                "/assistants",
                json={
                    "name": "tutor",
                    "model": {"connector": "openai", "model": "m"},
                    "prompt_template": "{context}{user_input}",
                    "tools": [{"type": "recording"}],
                    "extra": {"quota": {"enabled": True, "cost_limit_usd": 3e-6}},
                },
            )
            assert made.status_code == 201, made.text
            yield Tutor(client, provider, made.headers["location"], ran)


def is_refused(response: httpx.Response) -> bool:
    error = response.json()["error"]
    assert (error["type"], error["code"]) == (
        "quota_exceeded",
        "assistant_quota_exceeded",
    ), error
    assert response.headers["retry-after"] == "3600"
    return response.status_code == 429


@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_a_quota_stops_answers_before_tools_run_until_it_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    async with tutoring(tmp_path, monkeypatch, transport) as tutor:
        first = await tutor.ask()
        assert first.status_code == 200, first.text
        assert tutor.runs() == (1, 1)

        # At once, while nothing is recorded, and when it is.
        assert is_refused(await tutor.ask())
        used = await tutor.until_recorded(1)
        assert used["cost_usd"] == ANSWER
        assert used["quota"] == {
            "limit_usd": 3e-6,
            "spent_usd": ANSWER,
            "exceeded": True,
            "priced": True,
            "problem": None,
        }
        for more in ({}, {"stream": True}, {"metadata": TITLE}):
            assert is_refused(await tutor.ask(**more))
        legacy = {"messages": [{"role": "user", "content": "?"}]}
        query = f"/lamb/v1/completions?assistant={tutor.path[-1]}"
        assert is_refused(await tutor.client.post(query, json=legacy))
        assert tutor.runs() == (1, 1)

        await tutor.limit(ANSWER + 1e-6)
        assert (await tutor.ask()).status_code == 200
        assert tutor.runs() == (2, 2)
        assert is_refused(await tutor.ask())
        await tutor.limit("none of your business")
        broken = await tutor.ask()
        assert is_refused(broken)
        assert "cost_limit_usd is not an amount" in broken.json()["error"]["message"]
        assert tutor.runs() == (2, 2)


async def test_streamed_answers_and_tasks_count_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tutoring(tmp_path, monkeypatch, "local") as tutor:
        await tutor.limit(5)
        assert (await tutor.ask(stream=True)).status_code == 200
        assert (await tutor.ask(metadata=TITLE)).status_code == 200
        used = await tutor.until_recorded(2)
    [model] = used["models"]
    assert model == {
        "connector": "openai",
        "model": "m",
        "requests": 2,
        "usage_unknown": 0,
        "prompt_tokens": 6,
        "cached_tokens": 0,
        "completion_tokens": 25,
        "unpriced_tokens": 0,
        "cost_usd": 31e-6,
    }
