"""Open WebUI with the settings of its profile in the compose file, beside Heddle's own services."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from open_webui.profile import compose_environment
from runtime.ports import free_port

from docs.project.images import ROOT

PROGRAM = ROOT / ".heddle" / "open-webui" / "bin" / "open-webui"
_START_SECONDS = 180
# What differs from the image: it brings a model for embeddings, and may call other machines.
_OFFLINE = {
    "OFFLINE_MODE": "true",
    "ENABLE_VERSION_UPDATE_CHECK": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "true",
    "RAG_EMBEDDING_ENGINE": "openai",
    "RAG_OPENAI_API_KEY": "sk-test-0123456789abcdef",
    "RAG_EMBEDDING_MODEL": "words",
}


@dataclass
class OpenWebUI:
    """A running Open WebUI."""

    url: str
    log: Path
    token: str = ""
    """Of the administrator, who signs up first."""

    async def sign_up(self) -> None:
        body = {"name": "Ada", "email": "ada@uni.example", "password": "a-pass-phrase"}
        self.token = (await self.post("/api/v1/auths/signup", body))["token"]

    async def add_user(self, name: str) -> str:
        """Add a user without rights, and return the token."""
        body = {"name": name, "email": f"{name.lower()}@uni.example", "password": "a-pass-phrase"}
        added = await self.post("/api/v1/auths/add", {**body, "role": "user"})
        return str(added["token"])

    async def connect(self, url: str, key: str) -> None:
        """Use another server as OpenAI's API in place of the one before."""
        connection = {"OPENAI_API_BASE_URLS": [url], "OPENAI_API_KEYS": [key]}
        body = {"ENABLE_OPENAI_API": True, "OPENAI_API_CONFIGS": {}, **connection}
        await self.post("/openai/config/update", body)

    async def models(self, *, refresh: bool = False) -> dict[str, str]:
        """Return the names of the models that the user may choose, by their identifiers."""
        listed = await self._ask("GET", f"/api/models?refresh={str(refresh).lower()}")
        return {each["id"]: each["name"] for each in listed["data"]}

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        return await self._ask("POST", path, json=body)

    async def _ask(self, method: str, path: str, **options: Any) -> Any:
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=60) as client:
            response = await client.request(method, path, headers=headers, **options)
        assert response.status_code == httpx.codes.OK, response.text
        return response.json()


@asynccontextmanager
async def open_webui(folder: Path, gateway: str, embeddings: str) -> AsyncIterator[OpenWebUI]:
    """Run Open WebUI, and sign its administrator up.

    Args:
        folder: Where it keeps its data and its log.
        gateway: The URL of Heddle's gateway.
        embeddings: The URL of OpenAI's API for embeddings.
    """
    port = free_port()
    webui = OpenWebUI(f"http://127.0.0.1:{port}", folder / "open-webui.log")
    (folder / "open-webui").mkdir()
    settings = compose_environment("openwebui")
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
        **{name: it.replace("http://gateway:8080", gateway) for name, it in settings.items()},
        **_OFFLINE,
        "RAG_OPENAI_API_BASE_URL": embeddings,
        "DATA_DIR": str(folder / "open-webui"),
        "WEBUI_SECRET_KEY": secrets.token_hex(16),
    }
    with webui.log.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(PROGRAM, "serve", "--host", "127.0.0.1", "--port", str(port)),
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        await _until_ready(webui, process)
        await webui.sign_up()
        yield webui
    finally:
        process.terminate()
        await process.wait()


async def _until_ready(webui: OpenWebUI, process: asyncio.subprocess.Process) -> None:
    until = time.monotonic() + _START_SECONDS
    async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
        while time.monotonic() < until and process.returncode is None:
            with suppress(httpx.HTTPError):
                if (await client.get(f"{webui.url}/health")).status_code == httpx.codes.OK:
                    return
            await asyncio.sleep(0.5)
    raise AssertionError(f"Open WebUI does not start:\n{webui.log.read_text()[-3000:]}")
