"""Threat 10: a text of a client becomes a part of a query of Heddle's own."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from gateway.library import TUTOR, Library, library
from heddle_assistants.database.schema import assistants, users
from runtime.examples import sampled
from sqlalchemy import func, select

from gateway import accounts

ROOT = Path(__file__).parents[2]
INJECTIONS = (
    "' OR '1'='1",
    "'; DROP TABLE assistants; --",
    '"; DELETE FROM assistants; --',
    "1); DELETE FROM assistants; --",
    "x' UNION SELECT api_key FROM organizations --",
    "%' OR name LIKE '%",
    "\\'; DROP TABLE users; --",
    "$1 :name ?1 %s {0}",
)
PRODUCT = ("gateway", "services", "tools-service", "migration-service")
REVIEWED = {
    "services/devstack/src/heddle_devstack/backup/restoring.py",
    "services/knowledge/src/heddle_knowledge/engines/postgres.py",
    "migration-service/src/heddle_migration_service/lamb/tables.py",
    "services/runtime/src/heddle_runtime/storage/database/identities.py",
    "services/knowledge/src/heddle_knowledge/document_queries/database.py",
    "services/knowledge/src/heddle_knowledge/engines/postgres_full_text.py",
    "services/knowledge/src/heddle_knowledge/engines/postgres_table.py",
}
"""The files that put names of Heddle's own into the text of a query."""


async def counts(shelf: Library) -> list[int]:
    """Return the numbers of assistants and of users."""
    async with shelf.database.reading() as connection:
        return [
            int(await connection.scalar(select(func.count()).select_from(table)) or 0)
            for table in (assistants, users)
        ]


async def test_texts_in_rows_and_addresses_are_only_texts(tmp_path: Path) -> None:
    async with library(tmp_path) as shelf:
        own = await shelf["eve"].post("/assistants", json={**TUTOR, "name": "of_eve"})
        assert own.status_code == 201, own.text
        for number, text in enumerate(INJECTIONS):
            document = {**TUTOR, "name": f"tutor_{number}", "description": text}
            document |= {"system_prompt": text, "extra": {text: text}}
            created = await shelf["ana"].post("/assistants", json=document)
            assert created.status_code == 201, created.text
            stored = (await shelf["ana"].get(f"/assistants/{created.json()['id']}")).json()
            assert (stored["description"], stored["system_prompt"]) == (text, text)
            assert stored["extra"] == {text: text}
            before = await counts(shelf)
            for path in ("/assistants/", "/v1/models/", "/rubrics/"):
                for method in ("GET", "DELETE"):
                    response = await shelf["ana"].request(method, path + quote(text, safe=""))
                    assert 400 <= response.status_code < 500, (method, path, response.text)
            for query in ("page_token", "selection", "owner", "q"):
                response = await shelf["ana"].get("/assistants", params={query: text})
                assert response.status_code in (200, 400)
                assert "of_eve" not in response.text
            assert await counts(shelf) == before
            assert before[0] == 2 + number


@pytest.mark.parametrize("text", sampled([*INJECTIONS, '";--', "lamb_' OR 1=1", "x" * 60_000], 4))
async def test_a_key_is_only_a_key(tmp_path: Path, text: str) -> None:
    async with accounts.gateway(tmp_path, "local") as bench:
        known = (await bench.key(user=accounts.ANN)).secret
        prefix = known[: known.rindex("_") + 1]
        for key in (text, known + text, prefix + text):
            assert (await bench.chat(key)).status_code == 401
            assert len(bench.accounts.resolved_keys) <= 1
            bench.accounts.calls_of_each.clear()
        assert (await bench.chat(known)).status_code == 200


def test_no_other_file_writes_values_into_queries() -> None:
    command = [sys.executable, "-m", "ruff", "check", "--select", "S608", "--ignore-noqa"]
    command += ["--output-format", "concise", "--no-cache", "--exit-zero", *PRODUCT]
    run = subprocess.run(  # noqa: S603 - the command above
        command, cwd=ROOT, capture_output=True, check=True, text=True, timeout=60
    )
    files = {line.partition(":")[0] for line in run.stdout.splitlines() if " S608 " in line}

    assert files == REVIEWED
