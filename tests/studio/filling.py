"""Collections with files, for the tests of the screens about knowledge."""

import time
from collections.abc import Mapping
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
    _wait(studio, collection)
    query = {"limit": 100}
    listed = client.get(f"/v1/vector_stores/{collection}/files", params=query).json()["data"]
    return collection, {each["filename"]: each for each in listed}


def _wait(studio: Studio, collection: str) -> None:
    """Wait until no file is on its way."""
    end = time.monotonic() + _SECONDS
    while studio.client.get(f"/v1/vector_stores/{collection}").json()["status"] == "in_progress":
        assert time.monotonic() < end, "the files are not read"
        time.sleep(0.1)
