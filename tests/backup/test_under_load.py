"""A backup while clients write, restored in a bare root that has no file of the first one."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from backup.bare_root import run_in_bare_root
from backup.filled import PAGE, add_assistant, add_document, environment, members
from heddle_runtime.settings.local_secret import LocalSecret
from integration.browser import browser
from integration.whole import whole

_CLIENTS = 4
_RESTORE = (
    "export HEDDLE_TOOLS_WORKSPACE_DIR=workspaces; heddle restore heddle.tar; "
    "heddle restore heddle.tar --compare; heddle backup again.tar; ls -a . .heddle"
)


@dataclass
class Acknowledged:
    """What the clients were told is stored."""

    assistants: dict[str, str] = field(default_factory=dict)
    """The id of the collection that each one names, by its name."""
    documents: set[str] = field(default_factory=set)

    def copy(self) -> "Acknowledged":
        return Acknowledged(dict(self.assistants), set(self.documents))


@pytest.mark.exhaustive
@pytest.mark.timeout(1_200)
def test_a_backup_under_load_is_whole_and_equal_in_a_bare_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, archive = tmp_path / "first", tmp_path / "archive/heddle.tar"
    first.mkdir()
    archive.parent.mkdir()
    monkeypatch.setenv("HEDDLE_LOCAL_SECRET_FILE", f"{first}/identity-secret")
    LocalSecret.in_file(first / "identity-secret")
    before, after = asyncio.run(_backed_up_under_load(first, archive))

    assert len(before.assistants) > 5
    assert after.assistants.keys() > before.assistants.keys()  # clients went on meanwhile
    first.rename(tmp_path / "elsewhere")
    printed = run_in_bare_root(archive, tmp_path / "root", _RESTORE)
    assert printed.count("The installation holds what the backup") == 2
    again = members(archive.with_name("again.tar"))
    assert _parts(members(archive)) == _parts(again)
    _check_references(again, before)


def _check_references(restored: dict[str, bytes], before: Acknowledged) -> None:
    assistants = _rows(restored, "database/assistants.jsonl")
    names = {row["name"] for row in assistants}
    assert before.assistants.keys() <= names
    collections = {row["id"] for row in _rows(restored, "knowledge/collections.jsonl")}
    named = {f"vs_{each}" for each in collections}
    for row in assistants:
        assert row["description"] in named, row["name"]
    attached = [
        row | json.loads(base64.b64decode(row["record"]))
        for row in _rows(restored, "knowledge/attached.jsonl")
    ]
    files = {row["document"] for row in attached}
    assert before.documents <= files
    passages = {
        row["document"]
        for name in restored
        if name.startswith("knowledge/passages/")
        for row in _rows(restored, name)
    }
    completed = {row["document"] for row in attached if row["state"] == "completed"}
    assert before.documents <= completed <= passages
    uploads = {row["id"] for row in _rows(restored, "knowledge/uploads.jsonl")}
    assert {row["id"] for row in attached} <= uploads


async def _backed_up_under_load(folder: Path, archive: Path) -> tuple[Acknowledged, Acknowledged]:
    """Return what was acknowledged before the backup began and when it had ended."""
    written = Acknowledged()
    async with (
        whole(folder) as heddle,
        browser(heddle.url, timeout=120) as client,
        _load(client, written),
    ):
        while len(written.assistants) < 3 * _CLIENTS:
            await asyncio.sleep(0.05)
        before = written.copy()
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("heddle")),
            *("backup", str(archive), "--workspaces"),
            env=os.environ | environment(folder),
        )
        assert await process.wait() == 0
        after = written.copy()
    return before, after


@asynccontextmanager
async def _load(client: httpx.AsyncClient, written: Acknowledged) -> AsyncGenerator[None]:
    """Let clients write until the block ends."""
    async with asyncio.TaskGroup() as clients:
        tasks = [
            clients.create_task(_write(client, str(number), written)) for number in range(_CLIENTS)
        ]
        yield
        for task in tasks:
            task.cancel()


async def _write(client: httpx.AsyncClient, name: str, written: Acknowledged) -> None:
    """Create collections with a document, and for each an assistant that names it."""
    for number in range(10_000):
        label = f"weaver-{name}-{number}"
        created = await client.post("/v1/vector_stores", json={"name": label})
        store = created.json()["id"]
        await add_document(client, store, f"{label}.html", PAGE)
        written.documents.add(f"{label}.html")
        await add_assistant(client, label, description=store)
        written.assistants[label] = store


def _rows(contents: dict[str, bytes], name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in contents[name].splitlines()]


def _parts(contents: dict[str, bytes]) -> list[dict[str, Any]]:
    manifest = json.loads(contents["manifest.json"])
    # The new installation has an identity secret and workspaces of its own.
    own = ("settings/", "files/workspaces")
    return [part for part in manifest["parts"] if not part["name"].startswith(own)]
