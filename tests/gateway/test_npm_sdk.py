"""The unmodified npm package `openai` as a client."""

import asyncio
import hashlib
import json
import shutil
from pathlib import Path

import pytest
from gateway.conftest import KEY, Bench

SOURCES = Path(__file__).parent / "npm"
CACHE = Path(__file__).parents[2] / ".heddle" / "npm"
INSTALL_SECONDS = 90
NODE = shutil.which("node")
NPM = shutil.which("npm")


async def run(*command: str | Path, folder: Path, seconds: float) -> str:
    """Run a command in a folder and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await asyncio.wait_for(process.communicate(), seconds)
    assert process.returncode == 0, errors.decode()
    return output.decode()


@pytest.fixture
async def client() -> Path:
    """The client's folder, its packages installed as locked. Kept between runs."""
    files = [SOURCES / name for name in ("package.json", "package-lock.json", "client.mjs")]
    state = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    folder = CACHE / state
    done = folder / "installed"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copy(path, folder)
        assert NPM is not None, "node is installed without npm"
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        await run(NPM, "ci", *quiet, folder=folder, seconds=INSTALL_SECONDS)
        done.touch()
    return folder


@pytest.mark.skipif(NODE is None, reason="node is not installed")
async def test_completes_streams_and_reads_errors(bench: Bench, client: Path) -> None:
    assert NODE is not None
    printed = await run(NODE, "client.mjs", f"{bench.url}/v1", KEY, folder=client, seconds=30)
    assert json.loads(printed) == {
        "whole": "Hello",
        "usage": 10,
        "streamed": "Hello",
        "events": 2,
        "gathered": "Hello",
        "models": ["lamb_assistant.1", "lamb_assistant.2"],
        "refused": [404, "model_not_found", "NotFoundError"],
    }
