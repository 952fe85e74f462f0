"""The command and a whole Heddle: real documents, real tools, a real interruption."""

import asyncio
import os
import shutil
import signal
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli.interruptible import COMMAND
from integration import commands
from integration.whole import Whole, whole

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCUMENTS = 22  # more than are in flight
SIZE = 1000  # bytes of each document


def manual(folder: Path) -> Path:
    """Lay out a real corpus: help texts that the wheel of Mercurial carries."""
    spec = find_spec("mercurial")
    assert spec is not None
    assert spec.origin is not None
    texts = sorted((Path(spec.origin).parent / "helptext").glob("*.txt"), key=_size)
    corpus = folder / "manual"
    corpus.mkdir()
    for text in texts[:DOCUMENTS]:
        (corpus / text.name).write_bytes(text.read_bytes()[:SIZE])
    return corpus


def _size(path: Path) -> int:
    return path.stat().st_size


def addresses(running: Whole) -> dict[str, str]:
    """Return the settings that lead the command to the services of `running`."""
    return {
        "HEDDLE_TOOLS_ADDRESS": running.stack.tools,
        "HEDDLE_KNOWLEDGE_ADDRESS": running.stack.knowledge,
        "HEDDLE_ORCHESTRATOR_ADDRESS": running.stack.orchestrator,
        "HEDDLE_CONNECTOR_ADDRESS": running.stack.connector,
        "HEDDLE_ASSISTANTS_ADDRESS": running.stack.assistants,
        "HEDDLE_MIGRATION_ADDRESS": running.stack.optional["migration"],
        "PYTHONUNBUFFERED": "1",
    }


async def start(running: Whole, *arguments: str) -> asyncio.subprocess.Process:
    """Start the command, which can be interrupted."""
    return await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        env=dict(os.environ) | addresses(running),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ran(running: Whole, *arguments: str) -> tuple[int, str, str]:
    """Run the command to its end; return the exit code, the output and the notes."""
    ended = await asyncio.to_thread(commands.heddle, *arguments, environment=addresses(running))
    return ended.returncode, ended.stdout, ended.stderr


async def finish(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    """Return the exit code, the output and the notes."""
    try:
        out, notes = await asyncio.wait_for(process.communicate(), 100)
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, out.decode(), notes.decode()


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
async def test_an_interrupted_ingestion_goes_on_where_it_was_and_is_found(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "assistants", tmp_path / "assistants")
    ingest = ("ingest", str(manual(tmp_path)), "--collection", "manual")

    async with whole(tmp_path) as running:
        first = await start(running, *ingest)
        assert first.stdout is not None
        told = [await first.stdout.readline() for _ in range(2)]
        first.send_signal(signal.SIGINT)
        code, rest, notes = await finish(first)
        second, out, _ = await ran(running, *ingest)
        found = await ran(running, "search", "What is a changeset?", "--collection", "manual")
        answered = await ran(running, "chat", "show_prompt", "What is a heddle?")

    assert code == 130
    assert "Traceback" not in notes
    done = Counter(line.split()[0] for line in [*told, *rest.encode().splitlines()])
    states = Counter(line.split()[0] for line in out.splitlines())
    assert second == 0
    # What the service was about to commit at the signal can be there a moment later.
    assert states["new"] + states["unchanged"] + states["replaced"] == DOCUMENTS
    assert 2 <= done[b"new"] <= states["unchanged"] + states["replaced"] < DOCUMENTS
    assert found[0] == 0
    assert found[1].startswith("1. ")
    assert answered[0] == 0
    assert "The message has 4 words." in answered[1]
    assert "counting words" in answered[2]
