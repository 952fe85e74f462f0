"""Requests to other servers that a plugin lets the service send."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError
from heddle_runtime.http.egress import SETTING
from heddle_tools_service.workers.confinement import missing
from patience import until
from threats.test_22_misbehaving_tools import forget_peak, peak_mib
from threats.tool_service import Attacked, tool_service
from tools_service.serving import text_of

PLUGIN = '''
import asyncio, base64, json, os
import httpx
from heddle_tools_service.plugin_process.proxies import RUN
from heddle_tools_service.sdk import ToolResult, tool
from heddle_tools_service.workers import frames

TASKS = []

@tool("leaves", title="Leaves")
async def leaves(call, http: httpx.AsyncClient):
    """Leaves requests behind, of which no one waits for the answers."""
    for _ in range(40):
        TASKS.append(asyncio.create_task(http.get(call.query, timeout=1e6)))
    await asyncio.sleep(0.5)
    return ToolResult("left")

@tool("waits", title="Waits")
async def waits(call, http: httpx.AsyncClient):
    """Waits for a server that does not answer."""
    await http.get(call.query, timeout=1e6)

@tool("sends", title="Sends")
async def sends(call):
    """Sends 800 MB to a server that does not answer, past its own event loop."""
    body = base64.b64encode(b"x" * 8_000_000).decode()
    request = {"method": "POST", "url": call.query, "headers": [], "body": body, "seconds": 1e6}
    arguments = json.dumps(request).encode()
    capability = "heddle_tools_service.workers.interfaces:Http"
    os.set_blocking(3, True)
    for number in range(1, 101):
        message = frames.frame(frames.Called(number, RUN.get(), capability, "send", arguments))
        while message:
            message = message[os.write(3, message):]
    os.set_blocking(3, False)
    return ToolResult("sent")

@tool("answers", title="Answers")
async def answers(call):
    """Answers."""
    return ToolResult("there")
'''
MAX_PEAK_MIB = 500
SECONDS = 3

pytestmark = pytest.mark.skipif(bool(missing()), reason="the kernel lacks what confines plugins")


@dataclass
class SilentServer:
    """Accepts requests, reads them, and answers none."""

    open: int = 0
    most: int = 0
    url: str = ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read until the client closes the connection."""
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            while await reader.read(65_536):
                pass
        except OSError:
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def attacked(folder: Path) -> AsyncGenerator[tuple[Attacked, SilentServer]]:
    """Run a tool service with the plugin, and a server that does not answer."""
    silent = SilentServer()
    server = await asyncio.start_server(silent.connected, "127.0.0.1", 0)
    silent.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    allowed = {SETTING: "127.0.0.0/8"}
    async with server, tool_service(folder, {"own.py": PLUGIN}, **allowed) as service:
        yield service, silent


def conversation(question: str) -> pb.RunContext:
    """Return the context of a question."""
    parts = [chat_pb2.ContentPart(text=question)]
    message = chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=parts)
    return pb.RunContext(messages=[message])


async def test_requests_that_a_tool_leaves_behind_end_with_its_call(tmp_path: Path) -> None:
    async with attacked(tmp_path) as (service, silent):
        for _ in range(3):
            _, result = await service.client.run("leaves", {}, conversation(silent.url))
            assert text_of(result) == "left"
        assert silent.most > 0
        await until(lambda: silent.open == 0, SECONDS)


async def test_the_request_of_a_call_that_runs_out_of_time_ends(tmp_path: Path) -> None:
    async with attacked(tmp_path) as (service, silent):
        with pytest.raises(HeddleError, match="did not finish"):
            await service.client.run("waits", {}, conversation(silent.url), seconds=2)
        assert silent.most == 1
        await until(lambda: silent.open == 0, SECONDS)


@pytest.mark.exhaustive
async def test_requests_that_wait_take_little_memory_of_the_service(tmp_path: Path) -> None:
    async with attacked(tmp_path) as (service, silent):
        forget_peak(service.process)
        _, result = await service.client.run("sends", {}, conversation(silent.url), seconds=60)
        assert text_of(result) == "sent"
        assert silent.most > 0
        assert peak_mib(service.process) < MAX_PEAK_MIB
        _, result = await service.client.run("answers", {}, conversation("?"))
        assert text_of(result) == "there"
