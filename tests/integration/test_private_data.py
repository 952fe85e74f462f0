"""The modes of everything that Heddle keeps, after a run of its real processes."""

import contextlib
import os
import stat
from pathlib import Path

import httpx
from integration.browser import browser
from integration.processes import GATEWAY, ONE_PROCESS, processes

ASSISTANT = (
    "id: '1'\nname: echo\npublished: true\nmodel: {connector: bypass, model: debug-bypass}\n"
)


def shared(folder: Path) -> list[str]:
    """Return the files and folders that others than their owner may use."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink() and _mode(path) & 0o077
    ]


def _mode(path: Path) -> int:
    """Return the mode of a file; 0 if a service has removed it meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    return 0


async def used(client: httpx.AsyncClient) -> None:
    """Store something with every service that keeps data."""
    store = await client.post("/v1/vector_stores", json={"name": "looms"})
    assert store.status_code == 200, store.text
    upload = {"file": ("shed.md", b"A shed is the gap between threads.")}
    file = await client.post("/v1/files", files=upload, data={"purpose": "assistants"})
    assert file.status_code == 200, file.text
    attached = await client.post(
        f"/v1/vector_stores/{store.json()['id']}/files", json={"file_id": file.json()["id"]}
    )
    assert attached.status_code == 200, attached.text
    results = await client.post(
        f"/v1/vector_stores/{store.json()['id']}/search", json={"query": "What is a shed?"}
    )
    assert results.status_code == 200, results.text
    body = {"model": "echo", "messages": [{"role": "user", "content": "hi"}]}
    assert (await client.post("/v1/chat/completions", json=body)).status_code == 200


async def test_others_may_use_nothing_that_heddle_keeps(tmp_path: Path) -> None:
    before = os.umask(0o022)  # of a usual shell
    try:
        data = tmp_path / "data"
        for folder in (data / "knowledge", data / "images", data / "workspaces"):
            folder.mkdir(parents=True)  # by an operator
        (data / "heddle.db").touch()
        (tmp_path / "assistants").mkdir()
        (tmp_path / "assistants" / "echo.yaml").write_text(ASSISTANT)
        assert len(shared(data)) == 4
        settings = {
            "HEDDLE_LOCAL_SECRET_FILE": str(data / "secrets" / "identity"),
            "HEDDLE_KNOWLEDGE_DATA_DIR": str(data / "knowledge"),
            "HEDDLE_CONNECTOR_IMAGES_DIR": str(data / "images"),
            "HEDDLE_TOOLS_WORKSPACE_DIR": str(data / "workspaces"),
            "HEDDLE_ASSISTANTS_DATABASE": f"sqlite:///{data}/heddle.db",
        }
        async with (
            processes(tmp_path, ONE_PROCESS, **settings) as services,
            browser(services.url, timeout=60) as client,
        ):
            assert GATEWAY in services.ports
            await used(client)
            assert shared(data) == []
    finally:
        os.umask(before)
    assert shared(data) == []
    assert len(list(data.rglob("*"))) > 20
