"""The start of the single process: HTTP first, a text for people, and a log in a file."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from integration.processes import GATEWAY, MODULES, answered
from patience import until
from runtime.ports import free_port

# The process waits for this file before it ends loading the plugin.
SLOW_PLUGIN = """
import pathlib, time
for _ in range(600):
    if pathlib.Path(__file__).with_name("go").exists():
        break
    time.sleep(0.05)
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool

class Config(ToolConfig):
    '''Nothing to set.'''

@tool("late", title="Late", slot="late")
async def late(call: ToolCall[Config]) -> ToolResult:
    '''Says hello.'''
    return ToolResult("hello")
"""
START_CPU_SECONDS = 3.0
"""An idle machine answers HTTP about as soon as the process has used so much time."""


@dataclass
class Started:
    process: subprocess.Popen[bytes]
    folder: Path
    url: str

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def log(self) -> list[dict[str, object]]:
        lines = (self.folder / ".heddle/heddle.log").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "stderr").read_text()
        with suppress(httpx.TransportError):
            return answered(self.url, timeout=30)
        return False

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def started(folder: Path, *command: str, **environment: str) -> AsyncIterator[Started]:
    """Run a module, and wait for its first answer over HTTP."""
    ports = {module: free_port() for module in MODULES}
    variables = {name: text for name, text in os.environ.items() if not name.startswith("HEDDLE_")}
    variables |= {f"HEDDLE_{MODULES[each]}_LISTEN": f"127.0.0.1:{ports[each]}" for each in MODULES}
    variables |= environment
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as errors:
        process = await asyncio.to_thread(
            subprocess.Popen,
            [sys.executable, "-m", *command],
            cwd=folder,
            env=variables,
            stdout=out,
            stderr=errors,
        )
    running = Started(process, folder, f"http://127.0.0.1:{ports[GATEWAY]}")
    try:
        await until(lambda: asyncio.to_thread(running.answers), 90)
        yield running
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


async def test_http_answers_before_plugins_are_loaded_and_the_terminal_stays_quiet(
    tmp_path: Path,
) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "late.py").write_text(SLOW_PLUGIN)
    async with started(
        tmp_path, "heddle_cli", "up", HEDDLE_TOOLS_PLUGINS_DIR=str(plugins)
    ) as heddle:
        async with httpx.AsyncClient(base_url=heddle.url, timeout=60) as client:
            tools = asyncio.create_task(client.get("/tools"))
            assert (await client.get("/v1/models")).status_code == httpx.codes.OK
            assert not tools.done()
            assert heddle.stdout == ""
            (plugins / "go").touch()
            assert "late" in {each["name"] for each in (await tools).json()["tools"]}
        await until(lambda: "Log " in heddle.stdout)

        assert heddle.stdout.startswith("Heddle ")
        assert f"{heddle.url}/studio/" in heddle.stdout
        assert str(tmp_path / ".heddle/heddle.log") in heddle.stdout
        assert "{" not in heddle.stdout
        assert "\x1b" not in heddle.stdout
        assert (tmp_path / "stderr").read_text() == ""
        assert not [
            each
            for each in heddle.log
            if each["event"] == "generated a secret" and each["level"] != "info"
        ]


@pytest.mark.exhaustive
@pytest.mark.alone
async def test_http_answers_soon_after_the_start(tmp_path: Path) -> None:
    async with started(tmp_path, "heddle_cli", "up"):
        pass  # prepares the databases
    async with started(tmp_path, "heddle_cli", "up") as heddle:
        assert heddle.cpu_seconds() < START_CPU_SECONDS
