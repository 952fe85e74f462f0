"""Collections with files, for the tests of the screens about knowledge."""

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from studio.harness import Studio

_SECONDS = 120.0
Files = dict[str, dict[str, Any]]
"""Files of a collection by their names."""


def filled(studio: Studio, name: str, documents: Mapping[str, bytes]) -> tuple[str, Files]:
    """Create a collection and bring documents into it.

    Args:
        studio: Where.
        name: Of the collection.
        documents: The content of each file.

    Returns:
        The identifier of the collection, and its files when all are read, or have failed.
    """
    client = studio.client
    body = {"name": name, "sharing": "organization"}
    created = client.post("/v1/vector_stores", json=body)
    assert created.status_code == 200, created.text
    collection = str(created.json()["id"])
    stored = []
    for filename, content in documents.items():
        form, files = {"purpose": "assistants"}, {"file": (filename, content)}
        response = client.post("/v1/files", data=form, files=files)
        assert response.status_code == 200, response.text
        stored.append({"file_id": response.json()["id"]})
    batch = client.post(f"/v1/vector_stores/{collection}/file_batches", json={"files": stored})
    assert batch.status_code == 200, batch.text
    wait(studio, collection)
    query = {"limit": 100}
    listed = client.get(f"/v1/vector_stores/{collection}/files", params=query).json()["data"]
    return collection, {each["filename"]: each for each in listed}


def wait(studio: Studio, collection: str) -> None:
    """Wait until no file is on its way."""
    end = time.monotonic() + _SECONDS
    while studio.client.get(f"/v1/vector_stores/{collection}").json()["status"] == "in_progress":
        assert time.monotonic() < end, "the files are not read"
        time.sleep(0.1)


def copy_file(folder: Path, changes: Iterable[Mapping[str, Any]]) -> None:
    """Store copies of the row of the only file of a collection, as many files leave them.

    Args:
        folder: The data folder of the running Heddle.
        changes: The members of each copy's record that differ; `file_id` is required.
    """
    (path,) = folder.rglob("knowledge.db")
    with closing(sqlite3.connect(path)) as database, database:
        ((collection, text),) = database.execute("SELECT collection, record FROM attached_files")
        first = json.loads(text)
        records = [first | each for each in changes]
        database.executemany(
            "INSERT INTO attached_files (collection, id, state, created_at, record) "
            "VALUES (?, ?, ?, ?, ?)",
            [
                (
                    collection,
                    *(each["file_id"], each["state"], each["created_at"]),
                    json.dumps(each).encode(),
                )
                for each in records
            ],
        )
