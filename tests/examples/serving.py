"""An example as `make up` serves it, whose provider follows a script."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from examples.example_heddle import example
from heddle_devstack.examples import ingest_documents
from heddle_tools_service.app import ToolsSettings
from integration.functions.upstream import Script, Upstream, says, scripted

ANSWER: Script = [[says("An answer.")]]


@dataclass(frozen=True)
class Served:
    """A client of an example, and the provider of its model."""

    client: httpx.AsyncClient
    model: str
    upstream: Upstream

    async def ask(self, question: str, **members: Any) -> dict[str, Any]:
        """Return the answer, or the error."""
        messages = [{"role": "user", "content": question}]
        body = {"model": self.model, "messages": messages, **members}
        response = await self.client.post("/v1/chat/completions", json=body)
        answer: dict[str, Any] = response.json()
        return answer

    @property
    def prompts(self) -> list[str]:
        """The instructions and the question that the provider got last."""
        return [each["content"] for each in self.upstream.bodies[-1]["messages"]]


@asynccontextmanager
async def served(
    folder: Path,
    name: str,
    turns: Script = ANSWER,
    collections: Sequence[str] = (),
    *,
    key: str = "test",
) -> AsyncGenerator[Served]:
    """Serve an example with a model that calls functions, as its page advises.

    Args:
        folder: Keeps what the services store.
        name: The example's file, without the ending.
        turns: What the provider answers.
        collections: Which collections have their documents.
        key: Of the provider; empty if none is set up.
    """
    files = (f"assistants/{name}.yaml", "rubrics/short-essay.yaml")
    with pytest.MonkeyPatch.context() as environment:
        async with scripted(turns) as upstream:
            if key:
                environment.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
                environment.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", key)
            async with example(folder, *files) as running:
                for collection in collections:
                    knowledge = running.heddle.stack.knowledge
                    await ingest_documents(collection, ToolsSettings(), knowledge)
                yield Served(running.client, name.replace("-", "_"), upstream)


def source_names(answer: dict[str, Any]) -> list[str]:
    """Return the names of the sources of an answer in their order, with the numbers of pages."""
    return [
        f"{each['name']}, page {each['page'] + 1}" if "page" in each else each["name"]
        for group in answer["sources"]
        for each in group["metadata"]
    ]


@asynccontextmanager
async def plugin(folder: Path, name: str) -> AsyncGenerator[Callable[..., Any]]:
    """Serve one of the example tools; yield what runs it with a `question` or `arguments`."""
    async with example(folder, f"plugins/{name}.py") as running:

        async def run(**body: Any) -> Any:
            path = f"/tools/{name}/run"
            return (await running.client.post(path, json=body)).json()

        yield run
