"""All of Heddle with an assistant whose model follows a script and calls functions."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.browser import browser
from integration.functions.toolbox import PLUGIN
from integration.functions.upstream import Body, Delta, Upstream, says, scripted
from integration.whole import whole, write_assistant


@dataclass
class ScriptedModel:
    """A client, the provider of the model, and the folder of Heddle."""

    client: httpx.AsyncClient
    upstream: Upstream
    folder: Path
    turn: Sequence[Delta] = field(default_factory=list)
    """What the model answers to the next question, before it says "Done."."""

    async def ask(self, number: int, question: str = "?", **body: Any) -> httpx.Response:
        """Ask an assistant, and return its answer; `upstream.bodies` holds its requests alone."""
        self.upstream.bodies.clear()
        request = {
            "model": f"lamb_assistant.{number}",
            "messages": [{"role": "user", "content": question}],
        }
        return await self.client.post("/v1/chat/completions", json={**request, **body})

    def answer(self, _: Body) -> Sequence[Delta]:
        """Return the turn for the first request of a question, and "Done." for the others."""
        return [says("Done.")] if self.upstream.bodies else self.turn


@asynccontextmanager
async def scripted_model(folder: Path, *assistants: str) -> AsyncGenerator[ScriptedModel]:
    """Serve assistants with the numbers 1, 2, ...; each text lists the tools of one."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / "toolbox.py").write_text(PLUGIN)
    for number, tools in enumerate(assistants, 1):
        document = f"model: {{connector: openai, model: scripted}}\ntools: {tools}\n"
        write_assistant(folder, str(number), document)
    with pytest.MonkeyPatch.context() as environment:
        async with scripted([]) as upstream:
            environment.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
            environment.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
            async with whole(folder) as heddle, browser(heddle.url) as client:
                model = ScriptedModel(client, upstream, folder)
                upstream.turns = model.answer
                yield model
