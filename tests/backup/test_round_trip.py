"""A backup, restored into an empty installation, holds all that the first one held."""

import asyncio
import json
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from assistants.postgres import Postgres
from backup.filled import add_assistant, counts, environment, run
from integration.browser import browser
from integration.whole import whole
from runtime.examples import sampled
from s3_server import BUCKET, S3Server


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


@pytest.mark.exhaustive
@pytest.mark.parametrize("has_objects", sampled([False, True], 1), ids=["database", "objects"])
def test_sqlite_and_a_folder_move_to_postgresql_and_back(
    archive: Path,
    vector_server: Postgres,
    object_server: S3Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    has_objects: bool,
) -> None:
    run(f"restore {archive} --secrets {tmp_path}/secrets", environment(tmp_path), monkeypatch)
    for name in ("HEDDLE_ASSISTANTS_KEY_PEPPER", "HEDDLE_ASSISTANTS_ENCRYPTION_KEY"):
        monkeypatch.setenv(f"{name}_FILE", f"{tmp_path}/secrets/{name}")
    objects = object_server.settings("moved") if has_objects else {}
    with vector_server.database() as url:
        served = environment(tmp_path / "served", database=url, store=url) | objects
        run(f"restore {archive}", served, monkeypatch)
        back = tmp_path / "back.tar"
        run(f"backup {back} --workspaces", served, monkeypatch)
    kinds = {key.split("/")[1] for key in object_server.keys("moved/")}
    assert kinds == ({"images", "pages", "uploads"} if has_objects else set())
    for name in objects:
        monkeypatch.delenv(name)
    third = environment(tmp_path / "third")
    run(f"restore {back}", third, monkeypatch)
    run(f"restore {archive} --compare", third, monkeypatch)


@pytest.mark.exhaustive
def test_collections_move_to_an_object_store_and_back(
    archive: Path, object_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = environment(tmp_path / "served", store=f"s3://{BUCKET}/collections")
    served["HEDDLE_KNOWLEDGE_STORE_OPTIONS"] = json.dumps(object_server.options)
    run(f"restore {archive}", served, monkeypatch)
    assert object_server.keys("collections/")
    back = tmp_path / "back.tar"
    run(f"backup {back} --workspaces", served, monkeypatch)
    run(f"restore {archive} --compare", served, monkeypatch)
    third = environment(tmp_path / "third")
    run(f"restore {back}", third, monkeypatch)
    run(f"restore {archive} --compare", third, monkeypatch)


def test_rows_that_the_database_cannot_hold_are_named_and_all_others_restored(
    archive: Path,
    vector_server: Postgres,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(f"restore {archive} --secrets {tmp_path}/secrets", environment(tmp_path), monkeypatch)
    run(f"restore {archive}", environment(tmp_path), monkeypatch)
    for name in ("HEDDLE_ASSISTANTS_KEY_PEPPER", "HEDDLE_ASSISTANTS_ENCRYPTION_KEY"):
        monkeypatch.setenv(f"{name}_FILE", f"{tmp_path}/secrets/{name}")
    with closing(sqlite3.connect(tmp_path / "heddle.db")) as database, database:
        odd, odder, _ = [n for (n,) in database.execute("SELECT id FROM assistants ORDER BY id")]
        statement = "UPDATE assistants SET description = CAST(? AS TEXT) WHERE id = ?"
        database.executemany(statement, [(b"NUL \0", odd), (b"no UTF-8 \xff", odder)])
    asyncio.run(_lists(tmp_path, {str(odd): "NUL \0", str(odder): "no UTF-8 \ufffd"}))
    odd_archive = tmp_path / "odd.tar"
    run(f"backup {odd_archive}", environment(tmp_path), monkeypatch)
    capsys.readouterr()
    with vector_server.database() as url:
        served = environment(tmp_path / "served", database=url, store=url)
        with pytest.raises(SystemExit):
            run(f"restore {odd_archive}", served, monkeypatch)
        printed = capsys.readouterr().err
        assert f"not restored: assistants {odd}:" in printed
        assert "differs from the backup in" in printed
        left = tmp_path / "left.tar"
        run(f"backup {left}", served, monkeypatch)
    before, after = counts(odd_archive), counts(left)
    assert after["database/assistants"] == before["database/assistants"] - 1
    assert after["database/audit_events"] == before["database/audit_events"]
    assert after["knowledge/passages"] == before["knowledge/passages"]


async def _lists(folder: Path, descriptions: Mapping[str, str]) -> None:
    async with whole(folder, "local") as heddle, browser(heddle.url) as client:
        response = await client.get("/assistants", params={"selection": "all"})
        assert response.status_code == 200, response.text
        listed = {each["id"]: each["description"] for each in response.json()["assistants"]}
        assert len(listed) == 3
        assert descriptions.items() <= listed.items()
