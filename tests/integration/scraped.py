"""A running Heddle whose metrics are scraped, after requests of all kinds."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from integration.browser import browser
from integration.processes import ONE_PROCESS, Processes, processes
from integration.provider import Provider, providing
from integration.whole import write_assistant
from patience import until
from prometheus_client.parser import text_string_to_metric_families as parse
from runtime.ports import free_port

CANARY = "canary-heron-7731"
"""A text in prompts, questions and documents that no metric may contain."""
ASSISTANT = f"""model: {{connector: openai, model: MODEL}}
tools: [{{type: word_count}}, {{type: simple_rag, config: {{collections: [birds]}}}}]
prompt_template: '{CANARY}{{word_count}}{{context}}{{user_input}}'
"""
UNREACHABLE = """model: {connector: anthropic, model: c}
"""
AGENT = """model: {connector: openai, model: m}
strategy: agent
tools: [{type: word_count, mode: agent}]
"""
BIRDS = "Herons stand still in shallow water. " * 5


@dataclass(frozen=True)
class Scraped:
    """A running Heddle."""

    heddle: Processes
    client: httpx.AsyncClient
    provider: Provider
    address: str
    """Of the metrics."""

    def text(self) -> str:
        return httpx.get(f"http://{self.address}/metrics", verify=False).text  # noqa: S501 - plain HTTP

    def samples(self) -> "Samples":
        return Samples.of(self.text())

    async def ask(self, assistant: str, *, stream: bool = False) -> httpx.Response:
        messages = [{"role": "user", "content": f"What do herons do? {CANARY}"}]
        body = {"model": f"lamb_assistant.{assistant}", "messages": messages, "stream": stream}
        return await self.client.post("/v1/chat/completions", json=body)


@dataclass
class Samples:
    """The samples of a scrape."""

    labels: dict[str, set[str]] = field(default_factory=dict)
    """The labels of each name; of a metric without samples, none."""
    values: list[tuple[str, Mapping[str, str], float]] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> "Samples":
        samples = cls()
        for family in parse(text):
            for sample in family.samples:
                samples.labels.setdefault(sample.name, set()).update(sample.labels)
                samples.values.append((sample.name, sample.labels, sample.value))
        return samples

    def value(self, name: str, /, **labels: str) -> float:
        """Return the sum of the samples with these labels."""
        return sum(
            value
            for each, has, value in self.values
            if each == name and labels.items() <= has.items()
        )


@asynccontextmanager
async def scraped(folder: Path, **settings: str) -> AsyncIterator[Scraped]:
    """Run Heddle in one process, with its metrics at a port of their own."""
    address = f"127.0.0.1:{free_port()}"
    async with providing() as provider:
        provider.missing = ("gone",)
        for identifier, model in (("1", "m"), ("2", "gone")):
            write_assistant(folder, identifier, ASSISTANT.replace("MODEL", model))
        write_assistant(folder, "3", AGENT)
        write_assistant(folder, "4", UNREACHABLE)
        async with (
            processes(
                folder,
                ONE_PROCESS,
                HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
                HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
                HEDDLE_CONNECTOR_ANTHROPIC_BASE_URL=f"http://127.0.0.1:{free_port()}",
                HEDDLE_CONNECTOR_ANTHROPIC_API_KEY="test",
                HEDDLE_METRICS_LISTEN=address,
                **settings,
            ) as heddle,
            browser(heddle.url) as client,
        ):
            yield Scraped(heddle, client, provider, address)


async def requests_of_all_kinds(running: Scraped) -> None:
    """Send requests, so that every part of Heddle has something to record."""
    await upload(running.client, "birds", "herons.txt", BIRDS + CANARY)
    for stream in (False, True):
        assert (await running.ask("1", stream=stream)).status_code == httpx.codes.OK
    assert (await running.ask("2")).status_code == httpx.codes.NOT_FOUND
    assert (await running.ask("3")).status_code == httpx.codes.OK
    assert (await running.ask("4")).status_code == httpx.codes.SERVICE_UNAVAILABLE
    with running.heddle.channel("heddle_tools_service") as channel:
        tool_pb2_grpc.ToolServiceStub(channel).ListTools(tool_pb2.ListToolsRequest(), timeout=10)
    assert (await running.client.get("/health")).status_code == httpx.codes.OK
    assert (await running.client.get("/assistants/nothing")).status_code == httpx.codes.NOT_FOUND

    def ingested() -> bool:
        return running.samples().value("heddle_ingest_documents_total", outcome="new") == 1

    await until(ingested)


async def upload(client: httpx.AsyncClient, collection: str, name: str, text: str) -> None:
    """Ingest a document over REST and wait until it is in the collection."""
    created = await client.post("/v1/vector_stores", json={"name": collection})
    assert created.is_success, created.text
    store: dict[str, Any] = created.json()
    stored = await client.post(
        "/v1/files", files={"file": (name, text.encode())}, data={"purpose": "assistants"}
    )
    assert stored.is_success, stored.text
    path = f"/v1/vector_stores/{store['id']}/files"
    attached = await client.post(path, json={"file_id": stored.json()["id"]})
    assert attached.is_success, attached.text
