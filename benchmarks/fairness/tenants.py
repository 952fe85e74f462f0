"""The organisations, and what each of them does."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

LOUD = "loud"
_SECONDS = 120.0
_POLL_SECONDS = 0.02
_DONE = "completed"
_TABLES = b"<table><tr><td>" * 20_000
_FONTS = b"".join(b"<div><font size=%d></div>" % number for number in range(12_000))
_LISTS = b"<ul><li>text" * 400 + b"<li>text" * 10_000
DOCUMENTS = (_TABLES, _FONTS, _LISTS)
"""Of 300 kB: one that nests deep, one whose parser hangs, one with very much text."""


class UploadFailedError(Exception):
    """A one-line upload did not get into its collection."""


def key(organization: str) -> str:
    """Return the API key of an organisation."""
    return f"key-of-the-organisation-{organization}"


@dataclass(slots=True)
class Tenant:
    """An organisation at a gateway."""

    name: str
    address: str
    model: str
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Durations by what was done."""
    statuses: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """The number of responses by status."""
    _store: str = ""

    def client(self, connections: int = 100) -> httpx.AsyncClient:
        """Return a client with the key of the organisation."""
        return httpx.AsyncClient(
            base_url=f"http://{self.address}",
            headers={"authorization": f"Bearer {key(self.name)}"},
            limits=httpx.Limits(max_connections=connections),
            timeout=_SECONDS,
        )

    async def prepare(self, client: httpx.AsyncClient) -> None:
        """Create a collection with one document."""
        created = await client.post("/v1/vector_stores", json={"name": f"of-{self.name}"})
        created.raise_for_status()
        self._store = created.json()["id"]
        await self.upload(client)
        self.seconds.clear()

    async def probe(self, client: httpx.AsyncClient) -> None:
        """Do once what a user does: chat, search, upload one line."""
        for action in (self.chat, self.search, self.upload):
            started = time.monotonic()
            await action(client)
            self.seconds[action.__name__].append(time.monotonic() - started)

    async def chat(self, client: httpx.AsyncClient) -> None:
        """Ask one question."""
        messages = [{"role": "user", "content": "Which thread is the warp?"}]
        body = {"model": self.model, "messages": messages}
        (await client.post("/v1/chat/completions", json=body)).raise_for_status()

    async def search(self, client: httpx.AsyncClient) -> None:
        """Search the collection."""
        path = f"/v1/vector_stores/{self._store}/search"
        (await client.post(path, json={"query": "warp"})).raise_for_status()

    async def upload(self, client: httpx.AsyncClient) -> None:
        """Upload one line, and wait until it can be found."""
        path = await self.attach(client, f"line-{time.time_ns()}.txt", b"The warp is tied up.")
        if not path:
            raise UploadFailedError("A one-line upload was refused.")
        while True:
            response = await client.get(path)
            if (status := response.json()["status"]) != "in_progress":
                if status != _DONE:
                    raise UploadFailedError(response.text)
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def attach(self, client: httpx.AsyncClient, name: str, data: bytes) -> str:
        """Upload a file and attach it; return its path, empty if it was refused."""
        form = {"purpose": "assistants"}
        uploaded = await client.post("/v1/files", data=form, files={"file": (name, data)})
        self.statuses[uploaded.status_code] += 1
        if uploaded.is_error:
            return ""
        path = f"/v1/vector_stores/{self._store}/files"
        identifier = uploaded.json()["id"]
        attached = await client.post(path, json={"file_id": identifier})
        self.statuses[attached.status_code] += 1
        return "" if attached.is_error else f"{path}/{identifier}"


async def attack(tenant: Tenant, documents: int, chats: int) -> None:
    """Send hostile documents, and keep many chats running, until cancelled."""
    async with tenant.client(chats + 8) as client, asyncio.TaskGroup() as group:
        for _ in range(chats):
            group.create_task(_chat_on(tenant, client))
        for number in range(documents):
            data = DOCUMENTS[number % len(DOCUMENTS)]
            await tenant.attach(client, f"{number}.html", data)


async def _chat_on(tenant: Tenant, client: httpx.AsyncClient) -> None:
    body = {"model": tenant.model, "messages": [{"role": "user", "content": "warp " * 2_000}]}
    while True:
        response = await client.post("/v1/chat/completions", json=body)
        tenant.statuses[response.status_code] += 1
        if response.is_error:
            await asyncio.sleep(float(response.headers.get("retry-after", 1)))


async def probes(tenants: Sequence[Tenant], rounds: int) -> None:
    """Let each organisation do what users do, one after the other in each round."""
    clients = [tenant.client() for tenant in tenants]
    try:
        for _ in range(rounds):
            for tenant, client in zip(tenants, clients, strict=True):
                await tenant.probe(client)
    finally:
        await asyncio.gather(*(client.aclose() for client in clients))
