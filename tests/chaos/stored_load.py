"""The load of what replicas share: edits, uploads and ingestions, and what was acknowledged."""

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx
from chaos.history import Outcome
from chaos.load import KINDS, PATIENCE, Load, typed

EDIT, UPLOAD, INGESTION, RECORDS = "edit", "upload", "ingestion", "list of LAMB's"
STORED_KINDS = (*KINDS, EDIT, UPLOAD, INGESTION, RECORDS)
_INGESTED_SECONDS = 90.0
"""Until the documents of killed replicas are in their collection, on a busy machine."""
_numbers = itertools.count()


@dataclass
class StoredLoad(Load):
    """Clients that also edit assistants, upload files and bring them into a collection."""

    kinds: Sequence[str] = STORED_KINDS
    store: str = ""
    """The vector store of the ingestions."""
    editable: list[str] = field(default_factory=list)
    """The paths of the assistants that no client edits at the moment."""
    edits: dict[str, int] = field(default_factory=dict)
    """By path, the latest acknowledged number in the assistant's description."""
    uploads: dict[str, str] = field(default_factory=dict)
    """By id, the texts of the acknowledged files."""
    ingested: dict[str, str] = field(default_factory=dict)
    """By id, the texts of the files that were acknowledged as a part of the store."""

    async def prepare(self, clients: int) -> None:
        """Create the store, and an assistant to edit for each client."""
        response = await self.client.post("/v1/vector_stores", json={"name": "Looms"})
        assert response.is_success, response.text
        self.store = response.json()["id"]
        for number in range(clients):
            body = {"name": f"edited_{number}", "model": self.model, "description": "0"}
            response = await self.client.post("/assistants", json=body)
            assert response.is_success, response.text
            path = f"/assistants/{response.json()['id']}"
            self.editable.append(path)
            self.edits[path] = 0

    async def once(self, kind: str, assistant: str = "") -> tuple[Outcome, str]:
        """Do one operation, and return how it ended."""
        match kind:
            case "edit":
                path = self.editable.pop(0)
                try:
                    response = await self._edit(path)
                finally:
                    self.editable.append(path)
            case "upload":
                response = await self._upload("user_data", self.uploads)
            case "ingestion":
                response = await self._ingest()
            case "list of LAMB's":
                response = await self.client.get("/creator/assistant/get_assistants?limit=5")
            case _:
                return await super().once(kind, assistant)
        return typed(response.status_code, response.content)

    async def _edit(self, path: str) -> httpx.Response:
        """Write a larger number into an assistant, if it is still as it was read."""
        current = await self.client.get(path)
        if not current.is_success:
            return current
        number = next(_numbers) + 1
        body = {**current.json(), "description": str(number)}
        etag = {"if-match": current.headers["etag"]}
        response = await self.client.put(path, json=body, headers=etag)
        if response.is_success:
            self.edits[path] = number
        return response

    async def _upload(self, purpose: str, acknowledged: dict[str, str]) -> httpx.Response:
        number = next(_numbers)
        text = f"Shed number {number} is a gap between threads. " * (number % 20 + 1)
        response = await self.client.post(
            "/v1/files",
            data={"purpose": purpose},
            files={"file": (f"shed-{number}.md", text.encode())},
        )
        if response.is_success:
            acknowledged[response.json()["id"]] = text
        return response

    async def _ingest(self) -> httpx.Response:
        uploaded: dict[str, str] = {}
        response = await self._upload("assistants", uploaded)
        for identifier, text in uploaded.items():
            path = f"/v1/vector_stores/{self.store}/files"
            response = await self.client.post(path, json={"file_id": identifier})
            self.uploads[identifier] = text
            if response.is_success:
                self.ingested[identifier] = text
        return response

    async def check_at(self, clients: Sequence[httpx.AsyncClient]) -> None:
        """End the load, and read what was acknowledged since the last check from each gateway.

        Args:
            clients: A client of each gateway.
        """
        await self.stop()
        lost = self.history.lost
        for client in clients:
            await self.check_assistants(client)
            lost += await _lost_edits(client, self.edits)
            lost += await _lost_uploads(client, self.uploads)
            lost += await self._lost_ingestions(client)
        self.uploads.clear()
        self.ingested.clear()

    async def _lost_ingestions(self, client: httpx.AsyncClient) -> list[str]:
        path = f"/v1/vector_stores/{self.store}/files"
        end = time.monotonic() + _INGESTED_SECONDS
        while await _listed(client, path, "in_progress"):
            assert time.monotonic() < end, "documents are not ingested"
            await asyncio.sleep(0.1)
        completed = await _listed(client, path, "completed")
        lost = [f"ingestion of {it}" for it in self.ingested if it not in completed]
        for identifier in completed & self.ingested.keys():
            response = await client.get(f"{path}/{identifier}/content")
            text = "".join(part["text"] for part in response.json()["data"])
            if self.ingested[identifier].split() != text.split():
                lost.append(f"text of {identifier}: {text[:80]}")
        return lost


async def _lost_edits(client: httpx.AsyncClient, edits: dict[str, int]) -> list[str]:
    """Return the assistants that are older than their latest acknowledged edit."""
    lost = []
    for path, number in edits.items():
        response = await client.get(path)
        if not response.is_success or int(response.json()["description"]) < number:
            lost.append(f"edit {number} of {path}: {response.text[:80]}")
    return lost


async def _lost_uploads(client: httpx.AsyncClient, uploads: dict[str, str]) -> list[str]:
    lost = []
    for identifier, text in uploads.items():
        response = await client.get(f"/v1/files/{identifier}/content")
        if not response.is_success or response.text != text:
            lost.append(f"upload {identifier}: {response.text[:80]}")
    return lost


async def _listed(client: httpx.AsyncClient, path: str, status: str) -> set[str]:
    """Return the ids of all files of a store with a status."""
    identifiers: set[str] = set()
    query: dict[str, str | int] = {"filter": status, "limit": 100}
    while True:
        response = await client.get(path, params=query, timeout=PATIENCE)
        assert response.is_success, response.text
        page = response.json()
        identifiers |= {each["id"] for each in page["data"]}
        if not page["has_more"]:
            return identifiers
        query["after"] = page["last_id"]
