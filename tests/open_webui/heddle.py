"""Heddle behind Open WebUI: its services, an assistant for each thing to see, and two providers."""

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from connector import gemini
from connector.provider import provider
from heddle_runtime.http.egress import SETTING
from integration.browser import browser
from integration.processes import Processes, processes
from integration.whole import write_assistant
from open_webui.model import Model, serving
from open_webui.profile import OPERATOR_KEY, gateway_settings

QUESTION = "What is the gap between warp threads called?"
SHED = (
    "A shed is the temporary gap between the lifted and the lowered warp threads of a loom, "
    "through which the shuttle carries the weft."
)
TREATY = "The Treaty of Utrecht of 1713 ended a war about the throne of Spain."
_DOCUMENTS = (("looms.txt", SHED), ("treaty.txt", TREATY))
EXCERPT = "Looms hold the warp."
TOOLS = '''
import asyncio
from pathlib import Path
from heddle_tools_service.sdk import (
    Source, ToolCall, ToolConfig, ToolResult, ToolUnavailableError, tool
)


class ThreadingConfig(ToolConfig):
    """What it waits for."""

    file: str = ""


@tool("threading", title="Threading", slot="threading")
async def threading(call: ToolCall[ThreadingConfig]) -> ToolResult:
    """Waits until a file exists."""
    call.status("threading the heddles")
    while not Path(call.config.file).exists():
        await asyncio.sleep(0.05)
    return ToolResult("Threaded.")


@tool("library", title="Library", slot="library")
async def library(call: ToolCall) -> ToolResult:
    """Fails."""
    raise ToolUnavailableError("The library is closed.", diagnosis="library.example:4711 refuses")


@tool("website", title="Website", slot="website")
async def website(call: ToolCall) -> ToolResult:
    """Finds a page of the web."""
    source = Source("Loom wiki", "https://wiki.example/loom", excerpt="Looms hold the warp.")
    return ToolResult("Looms hold the warp.", [source])
'''
_MODEL = "model: {connector: openai, model: m}\n"
_RAG = "{type: simple_rag, slot: context, config: {collections: [weaving], top_k: 1}}"
TUTOR, PATIENT, UNLUCKY, PAINTER, OVERLOADED, TIRELESS, READER, BREAKING = map(str, range(1, 9))
_ASSISTANTS = {
    TUTOR: f"title: Weaving tutor\n{_MODEL}"
    f"prompt_template: '{{context}} Question: {{user_input}}'\ntools: [{_RAG}]\n",
    PATIENT: f"title: Patient tutor\n{_MODEL}prompt_template: '{{threading}} {{user_input}}'\n"
    "tools: [{type: threading, config: {file: GATE}, timeout: 60}]\n",
    UNLUCKY: f"title: Unlucky tutor\n{_MODEL}prompt_template: '{{library}} {{user_input}}'\n"
    "tools: [{type: library}]\n",
    PAINTER: "title: Painter\nmodel: {connector: banana_img, model: gemini-2.5-flash-image}\n"
    "capabilities: {vision: true, image_generation: true}\n",
    OVERLOADED: "title: Overloaded tutor\nmodel: {connector: openai, model: failing}\n",
    TIRELESS: "title: Tireless tutor\nmodel: {connector: openai, model: endless}\n",
    READER: f"title: Reader of the web\n{_MODEL}prompt_template: '{{website}} {{user_input}}'\n"
    "tools: [{type: website}]\n",
    BREAKING: "title: Breaking tutor\nmodel: {connector: openai, model: breaking}\n",
}


@dataclass(frozen=True)
class Heddle:
    """All services, in a process each, with the settings of the compose file."""

    services: Processes
    model: Model
    gate: Path
    """The file that the tool `threading` waits for."""

    @property
    def url(self) -> str:
        return self.services.url


@asynccontextmanager
async def heddle(folder: Path) -> AsyncIterator[Heddle]:
    """Run all services and providers; the collection `weaving` has two documents."""
    gate = folder / "gate"
    for identifier, text in _ASSISTANTS.items():
        write_assistant(folder, identifier, text.replace("GATE", str(gate)))
    (folder / "plugins").mkdir()
    (folder / "plugins" / "weaving.py").write_text(TOOLS)
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(serving())
        answer = gemini.answering(gemini.content(gemini.picture(png())))
        images = await stack.enter_async_context(provider(answer))
        settings = {
            "HEDDLE_TOOLS_PLUGINS_DIR": str(folder / "plugins"),
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": model.url,
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "sk-test-0123456789abcdef",
            "HEDDLE_CONNECTOR_BANANA_IMG_BASE_URL": f"{images.url}/v1beta",
            "HEDDLE_CONNECTOR_BANANA_IMG_API_KEY": gemini.KEY,
            "HEDDLE_CONNECTOR_IMAGES_DIR": str(folder / "images"),
            "HEDDLE_GATEWAY_SMALL_MODEL": "openai/small",
            f"HEDDLE_{SETTING.upper()}": "127.0.0.0/8",
            **gateway_settings(),
        }
        services = await stack.enter_async_context(processes(folder, **settings))
        async with browser(services.url, OPERATOR_KEY, timeout=60) as operator:
            await _ingest(operator)
        yield Heddle(services, model, gate)


async def _ingest(operator: httpx.AsyncClient) -> None:
    created = await operator.post("/v1/vector_stores", json={"name": "weaving"})
    store = f"/v1/vector_stores/{created.json()['id']}"
    for name, text in _DOCUMENTS:
        uploaded = await operator.post(
            "/v1/files", files={"file": (name, text.encode())}, data={"purpose": "assistants"}
        )
        added = await operator.post(f"{store}/files", json={"file_id": uploaded.json()["id"]})
        assert added.status_code == httpx.codes.OK, added.text
    async with asyncio.timeout(60):
        while (await operator.get(store)).json()["file_counts"]["completed"] < len(_DOCUMENTS):
            await asyncio.sleep(0.1)


def png() -> bytes:
    """Return a blue picture that a browser can show."""
    size = 64
    row = b"\0" + b"\x20\x80\xd0" * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(row * size)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_png_chunk(*each) for each in chunks)


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    length, checksum = struct.pack(">I", len(data)), struct.pack(">I", zlib.crc32(kind + data))
    return length + kind + data + checksum
