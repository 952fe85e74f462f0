"""`make demo`: ingests a manual, asks an assistant with three tools a question, prints the stream.

The question goes to the gateway's HTTP interface. The data stays in the default folders under
`.heddle`, where `make up` finds it.
"""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import uvloop
from heddle_assistants.app import AssistantsSettings
from heddle_connector.app import ConnectorSettings
from heddle_gateway.app import GatewaySettings
from heddle_gateway.http.server import serving
from heddle_knowledge.settings import KnowledgeSettings
from heddle_orchestrator.app import OrchestratorSettings
from heddle_runtime.telemetry import logs
from heddle_tools_service.app import ToolsSettings
from rich.console import Console

from heddle_devstack import StackSettings, stack
from heddle_devstack.examples import COLLECTION, ingest_manual, manual_folder
from heddle_devstack.settings import DevstackSettings

QUESTION = "What are the three phases of a changeset?"
ASSISTANT = "lamb_assistant.file-1"
ANY_PORT = "127.0.0.1:0"
ANSWER_TIMEOUT_SECONDS = 120.0
_EXAMPLE = Path("examples/assistants/mercurial-guide.yaml")
_DEFAULT_MODEL = "{connector: default, model: default}"
_EMBEDDED_MODEL = "{connector: local, model: smollm2-135m-instruct}"

console = Console(highlight=False, soft_wrap=True)


async def main(folder: Path) -> int:
    """Run the demonstration with the assistants of a folder, and return the exit code."""
    manual = manual_folder()
    if manual is None:
        raise SystemExit("The package mercurial is missing. Run `make demo` to install it.")
    settings = StackSettings(
        devstack=DevstackSettings(),
        gateway=GatewaySettings(listen=ANY_PORT, development=True, drain_wait=0),
        tools=ToolsSettings(listen=ANY_PORT, drain_wait=0),
        knowledge=KnowledgeSettings(listen=ANY_PORT, drain_wait=0),
        orchestrator=OrchestratorSettings(listen=ANY_PORT, drain_wait=0),
        connector=ConnectorSettings(listen=ANY_PORT, drain_wait=0),
        assistants=AssistantsSettings(listen=ANY_PORT, assistants_dir=folder, drain_wait=0),
    )
    async with stack(settings) as running, serving(running.gateway, settings.gateway) as address:
        console.print(f"[bold]1. Ingest the manual of Mercurial[/] ({manual.name})")
        console.print("The first time takes about a minute.")
        pages = await ingest_manual(settings.tools, running.knowledge)
        console.print(f"{COLLECTION}: {pages} documents")
        console.print(f"\n[bold]2. Ask an assistant with three tools[/]\n{QUESTION}\n")
        return await print_answer(address)


async def print_answer(address: str) -> int:
    """Ask the question, print the events as they arrive, and return the exit code."""
    body = {
        "model": ASSISTANT,
        "messages": [{"role": "user", "content": QUESTION}],
        "stream": True,
        "temperature": 0,
        "max_tokens": 120,
    }
    sources: list[dict[str, Any]] = []
    has_text = False
    async with (
        httpx.AsyncClient(base_url=f"http://{address}", timeout=ANSWER_TIMEOUT_SECONDS) as client,
        client.stream("POST", "/v1/chat/completions", json=body) as response,
    ):
        if response.status_code != httpx.codes.OK:
            console.print(await response.aread())
            return 1
        async for chunk in chunks(response):
            if "error" in chunk:
                console.print(f"[red]{chunk['error']['message']}[/]")
                return 1
            event = chunk.get("event", {})
            if event.get("type") == "status" and not event["data"].get("hidden"):
                console.print(f"[dim]… {event['data']['description']}[/]")
            elif event.get("type") == "source":
                sources.append(event["data"])
            if chunk["choices"] and (text := chunk["choices"][0]["delta"].get("content")):
                console.print(text, end="", markup=False)
                has_text = True
    console.print("\n\n[bold]3. Sources of the answer[/]")
    names = [
        metadata.get("name", source["source"]["name"])
        for source in sources
        for metadata in source["metadata"]
    ]
    for name in dict.fromkeys(names):  # two passages may be of one document
        console.print(f"- {name}", markup=False)
    console.print(
        "\n[dim]The embedded model is small and often wrong: it shows that the parts work together."
        " docs/guides/providers.md shows how to use another model. `make up` serves this "
        "collection.[/]"
    )
    return 0 if has_text and sources else 1


async def chunks(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """Yield the chunks of a streamed answer."""
    async for line in response.aiter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


if __name__ == "__main__":
    logs.configure("demo", "ERROR")
    assistant = _EXAMPLE.read_text().replace(_DEFAULT_MODEL, _EMBEDDED_MODEL)
    with TemporaryDirectory() as folder:
        (Path(folder) / _EXAMPLE.name).write_text(assistant)
        sys.exit(uvloop.run(main(Path(folder))))
