"""The organisations, and what each of them does."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

LOUD = "loud"
MODEL = "lamb_assistant.bench"
_SECONDS = 120.0
_POLL_SECONDS = 0.02
_DONE = "completed"


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
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Durations by what was done."""
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
        await self.create(client)
        await self.upload(client)
        self.seconds.clear()

    async def create(self, client: httpx.AsyncClient) -> None:
        """Create a collection."""
        created = await client.post("/v1/vector_stores", json={"name": f"of-{self.name}"})
        created.raise_for_status()
        self._store = created.json()["id"]

    async def probe(self, client: httpx.AsyncClient) -> None:
        """Do once what a user does: chat, search, upload one line."""
        for action in (self.chat, self.search, self.upload):
            started = time.monotonic()
            await action(client)
            self.seconds[action.__name__].append(time.monotonic() - started)

    async def chat(self, client: httpx.AsyncClient) -> None:
        """Ask one question."""
        messages = [{"role": "user", "content": "Which thread is the warp?"}]
        body = {"model": MODEL, "messages": messages}
        (await client.post("/v1/chat/completions", json=body)).raise_for_status()

    async def search(self, client: httpx.AsyncClient) -> None:
        """Search the collection."""
        path = f"/v1/vector_stores/{self._store}/search"
        (await client.post(path, json={"query": "warp"})).raise_for_status()

    async def upload(self, client: httpx.AsyncClient) -> None:
        """Upload one line, and wait until it can be found."""
        name = f"line-{time.time_ns()}.txt"
        attached = await self.attach(client, name, b"The warp is tied up.")
        attached.raise_for_status()
        path = f"/v1/vector_stores/{self._store}/files/{attached.json()['id']}"
        while True:
            response = await client.get(path)
            if (status := response.json()["status"]) != "in_progress":
                if status != _DONE:
                    raise UploadFailedError(response.text)
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def attach(self, client: httpx.AsyncClient, name: str, data: bytes) -> httpx.Response:
        """Upload a file and attach it; return the last response, which may be a refusal."""
        form = {"purpose": "assistants"}
        uploaded = await client.post("/v1/files", data=form, files={"file": (name, data)})
        if uploaded.is_error:
            return uploaded
        path = f"/v1/vector_stores/{self._store}/files"
        return await client.post(path, json={"file_id": uploaded.json()["id"]})


async def probes(tenants: Sequence[Tenant], rounds: int) -> None:
    """Let each organisation do what users do, one after the other in each round."""
    clients = [tenant.client() for tenant in tenants]
    try:
        for _ in range(rounds):
            for tenant, client in zip(tenants, clients, strict=True):
                await tenant.probe(client)
    finally:
        await asyncio.gather(*(client.aclose() for client in clients))
