"""An installation in a folder, and one that holds something of everything that Heddle stores."""

import asyncio
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import httpx
from heddle_cli.__main__ import main
from heddle_connector.generation.generated_images import GeneratedImages
from heddle_knowledge.collection.registry import new_collection
from heddle_knowledge.collection.store import open_collection_store
from heddle_knowledge.embedders.embedding import EmbedderInfo
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.graph.parts import GraphParts
from heddle_knowledge.graph.records import Name, NamedPassage
from heddle_knowledge.pages.page_place import open_pages
from heddle_runtime.identity.callers import Identity
from heddle_runtime.settings.local_secret import LocalSecret
from integration.browser import browser
from integration.whole import whole
from knowledge.store.making import pdf

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
BYPASS = {"connector": "bypass", "model": "simple-bypass"}
PAGE = b"<h1>Looms</h1><p>A shed is a gap. \xc3\x89l teje.</p>"


def environment(folder: Path, *, database: str = "", store: str = "") -> dict[str, str]:
    """Return the settings of an installation in a folder, as `whole` runs one."""
    return {
        "HEDDLE_ASSISTANTS_DATABASE": database or f"sqlite:///{folder}/heddle.db",
        "HEDDLE_CONNECTOR_IMAGES_DIR": f"{folder}/images",
        "HEDDLE_KNOWLEDGE_DATA_DIR": f"{folder}/knowledge",
        "HEDDLE_KNOWLEDGE_STORE_URL": store,
        "HEDDLE_TOOLS_WORKSPACE_DIR": f"{folder}/workspaces",
        "HEDDLE_LOCAL_SECRET_FILE": f"{folder}/identity-secret",
    }


def run(arguments: str, settings: dict[str, str], monkeypatch: Any) -> None:
    """Run a command of `heddle` with settings; it ends with an exit code if it fails."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    try:
        main(arguments.split())
    except SystemExit as error:
        if error.code:
            raise


def fill(folder: Path) -> None:
    """Bring something of everything into the installation of a folder."""
    LocalSecret.in_file(folder / "identity-secret")
    asyncio.run(_use(folder))
    image = GeneratedImages(folder / "images", 10**9).store(Identity("ann", "default"), PNG)
    asyncio.run(image)
    notes = folder / "workspaces/default/ann/notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("# Weft\n")
    notes.chmod(0o640)
    asyncio.run(_draw(folder / "knowledge"))


async def _draw(folder: Path) -> None:
    """Add a collection with a graph, of an English document, a silent one, and another."""
    info = EmbedderInfo("all-MiniLM-L6-v2", 384, "1", 256)
    passage = NamedPassage(0, "Ada met Charles.", 1, "Looms", [Name("ada", "Ada")])
    async with open_engine(str(folder), {}) as engine, open_collection_store(engine) as store:
        collection = new_collection("people", "embedded", info, title="", settings={}, graph=True)
        await store.add(collection)
    async with open_pages("", folder / "pages") as pages:
        drawn = GraphParts(pages.database, collection.id)
        await drawn.add("looms.pdf", "1" * 64, [passage], english=True)
        await drawn.add("silent.pdf", "3" * 64, [], english=True)
        await drawn.add("telares.pdf", "2" * 64, [], english=False)


async def _use(folder: Path) -> None:
    async with whole(folder, "local") as heddle, browser(heddle.url, timeout=120) as client:
        for number in range(3):
            await add_assistant(client, f"weaver-{number}")
        model = {"model": "weaver-1", "messages": [{"role": "user", "content": "why?"}]}
        assert (await client.post("/v1/chat/completions", json=model)).status_code == 200
        store = (await client.post("/v1/vector_stores", json={"name": "looms"})).json()["id"]
        content = pdf("A shed is a gap\nbetween threads.", "The weft goes through it.")
        for name, data in (("looms.pdf", content), ("looms.html", PAGE)):
            await add_document(client, store, name, data)


async def add_assistant(client: httpx.AsyncClient, name: str, **members: Any) -> None:
    """Create an assistant."""
    body = {"name": name, "model": BYPASS, "system_prompt": "Teixeix.\n", "published": True}
    stored = await client.post("/assistants", json=body | members)
    assert stored.status_code == 201, stored.text


async def add_document(client: httpx.AsyncClient, store: str, name: str, data: bytes) -> None:
    """Upload a file and bring it into a collection."""
    upload = await client.post(
        "/v1/files", files={"file": (name, data)}, data={"purpose": "assistants"}
    )
    path = f"/v1/vector_stores/{store}/files"
    body = {"file_id": upload.json()["id"]}
    file = (await client.post(path, json=body)).json()
    for _ in range(3_000):
        if file["status"] != "in_progress":
            break
        await asyncio.sleep(0.01)
        file = (await client.get(f"{path}/{file['id']}")).json()
    assert file["status"] == "completed", file


def members(archive: Path) -> dict[str, bytes]:
    """Return what an archive holds."""
    with tarfile.open(archive) as tar:
        files = {each.name: tar.extractfile(each) for each in tar}
        return {name: file.read() for name, file in files.items() if file is not None}


def rewritten(target: Path, contents: dict[str, bytes]) -> Path:
    """Write an archive with these members."""
    with tarfile.open(target, "w") as tar:
        for name, data in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return target


def counts(archive: Path) -> dict[str, int]:
    """Return how many rows each part of an archive has, passages of all collections as one."""
    manifest = json.loads(members(archive)["manifest.json"])
    rows: dict[str, int] = {}
    for part in manifest["parts"]:
        name = "/".join(part["name"].split("/")[:2])
        rows[name] = rows.get(name, 0) + part["rows"]
    return rows
