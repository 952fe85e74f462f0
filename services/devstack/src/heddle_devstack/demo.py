"""`make demo`: a manual, a question, three tools at once, an answer as it is made.

Everything goes the way that a user's request goes: documents through `heddle ingest`, the question
through the gateway's HTTP interface.
"""

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import uvloop
from heddle_assistants.app import AssistantsSettings
from heddle_connector.app import ConnectorSettings
from heddle_gateway.app import GatewaySettings
from heddle_gateway.server import serving
from heddle_migration_service.app import MigrationSettings
from heddle_orchestrator.app import OrchestratorSettings
from heddle_runtime import logs
from heddle_tools_service.app import ToolsSettings
from rich.console import Console

from heddle_devstack import StackSettings, stack
from heddle_devstack.settings import DevstackSettings

QUESTION = "What are the three phases of a changeset?"
ASSISTANT = "lamb_assistant.1"
COLLECTION = "mercurial-help"
ANY_PORT = "127.0.0.1:0"
STATE = Path(".heddle/demo")
LARGEST = 16_000  # bytes; the reference of all settings alone would take a minute to read
ANSWER_WITHIN = 120.0  # seconds

console = Console(highlight=False, soft_wrap=True)


async def main() -> int:
    """Run the demonstration and return the exit code."""
    manual = manual_folder()
    settings = StackSettings(
        devstack=DevstackSettings(),
        gateway=GatewaySettings(listen=ANY_PORT, development=True, drain_wait=0),
        tools=ToolsSettings(
            listen=ANY_PORT, data_dir=STATE / "knowledge", files_dir=manual, drain_wait=0
        ),
        orchestrator=OrchestratorSettings(listen=ANY_PORT, drain_wait=0),
        connector=ConnectorSettings(listen=ANY_PORT, drain_wait=0),
        assistants=AssistantsSettings(
            listen=ANY_PORT,
            assistants_dir=Path("examples/assistants"),
            database=f"sqlite:///{STATE}/heddle.db",
            drain_wait=0,
        ),
        migration=MigrationSettings(listen=ANY_PORT, drain_wait=0),
    )
    async with stack(settings) as running, serving(running.gateway, settings.gateway) as address:
        console.print(f"[bold]1. The manual of Mercurial goes into a collection[/] ({manual.name})")
        if code := await ingest(manual, running.tools):
            return code
        console.print(f"\n[bold]2. A question to an assistant with three tools[/]\n{QUESTION}\n")
        return await answer(address)


def manual_folder() -> Path:
    """Return the folder of help texts that the Mercurial package carries."""
    found = importlib.util.find_spec("mercurial")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The package mercurial is missing: run make install.")
    return Path(found.submodule_search_locations[0]) / "helptext"


def pages(manual: Path) -> list[str]:
    """Return the paths of the shorter pages."""
    return [str(page) for page in sorted(manual.glob("*.txt")) if page.stat().st_size <= LARGEST]


async def ingest(manual: Path, tools: str) -> int:
    """Put the shorter pages into the collection with the operator's own command."""
    command = [
        *(sys.executable, "-m", "heddle_cli", "ingest", *pages(manual)),
        *("--collection", COLLECTION, "--title", "Mercurial's help", "--tools-address", tools),
    ]
    # Not uvloop's own way to start a process: that forks, which gRPC's threads do not like.
    done = await asyncio.to_thread(subprocess.run, command, check=False)
    return done.returncode


async def answer(address: str) -> int:
    """Ask, show what happens as it happens, and return the exit code."""
    body = {
        "model": ASSISTANT,
        "messages": [{"role": "user", "content": QUESTION}],
        "stream": True,
        "temperature": 0,
        "max_tokens": 120,
    }
    sources: list[dict[str, Any]] = []
    said = False
    async with (
        httpx.AsyncClient(base_url=f"http://{address}", timeout=ANSWER_WITHIN) as client,
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
                said = True
    console.print("\n\n[bold]3. What the answer rests on[/]")
    for source in sources:
        for metadata in source["metadata"]:
            console.print(f"- {metadata.get('name', source['source']['name'])}", markup=False)
    console.print(
        "\n[dim]The embedded model is small: the wiring is the demonstration, not its wisdom. "
        "README.md says how to use another.[/]"
    )
    return 0 if said and sources else 1


async def chunks(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """Yield the chunks of a streamed answer."""
    async for line in response.aiter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


if __name__ == "__main__":
    logs.configure("demo", "ERROR")
    sys.exit(uvloop.run(main()))
