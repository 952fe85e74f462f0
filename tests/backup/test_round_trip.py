"""A backup, restored into an empty installation, holds all that the first one held."""

import asyncio
import stat
from pathlib import Path

import pytest
from assistants.postgres import Postgres
from backup.filled import add_assistant, counts, environment, run
from integration.browser import browser
from integration.whole import whole


def test_a_backup_has_something_of_everything(archive: Path) -> None:
    rows = counts(archive)
    assert rows["database/assistants"] == 3
    assert rows["knowledge/passages"] >= 3
    used = {
        *("database/assistant_versions", "database/usage", "database/audit_events"),
        *("database/audit_keys", "database/last_ids", "database/organizations"),
        *("knowledge/collections", "knowledge/attached", "knowledge/uploads", "knowledge/pages"),
        *("knowledge/graphs", "files/images", "files/workspaces", "settings/secrets"),
    }
    assert used <= {name for name, count in rows.items() if count}
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600


def test_what_is_restored_is_equal_and_works(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(f"restore {archive}", environment(tmp_path), monkeypatch)
    run(f"restore {archive} --compare", environment(tmp_path), monkeypatch)
    for name in ("heddle.db.pepper", "heddle.db.encryption-key", "identity-secret"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        assert (tmp_path / name).read_text() == (archive.parent / name).read_text()
    asyncio.run(_answers(tmp_path))


async def _answers(folder: Path) -> None:
    async with whole(folder, "local") as heddle, browser(heddle.url) as client:
        search = await client.post("/v1/vector_stores/looms/search", json={"query": "weft"})
        assert "weft" in search.text
        body = {"model": "weaver-2", "messages": [{"role": "user", "content": "why?"}]}
        assert (await client.post("/v1/chat/completions", json=body)).status_code == 200
        await add_assistant(client, "weaver-3")  # its id is new, and the audit log goes on


def test_sqlite_and_a_folder_move_to_postgresql_and_back(
    archive: Path, vector_server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(f"restore {archive} --secrets {tmp_path}/secrets", environment(tmp_path), monkeypatch)
    for name in ("HEDDLE_ASSISTANTS_KEY_PEPPER", "HEDDLE_ASSISTANTS_ENCRYPTION_KEY"):
        monkeypatch.setenv(f"{name}_FILE", f"{tmp_path}/secrets/{name}")
    with vector_server.database() as url:
        served = environment(tmp_path / "served", database=url, store=url)
        run(f"restore {archive}", served, monkeypatch)
        back = tmp_path / "back.tar"
        run(f"backup {back} --workspaces", served, monkeypatch)
    third = environment(tmp_path / "third")
    run(f"restore {back}", third, monkeypatch)
    run(f"restore {archive} --compare", third, monkeypatch)
