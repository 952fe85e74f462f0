"""The page that leads from one process to many: its commands, with data of one process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from docs.blocks import blocks
from integration.people.installation import Installation, fill
from integration.processes import GATEWAY, MODULES, ONE_PROCESS, Processes
from runtime.ports import free_port

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/guides/one-to-many.md"
SEEN = (
    *("/v1/models", "/v1/vector_stores", "/v1/files", "/rubrics", "/keys"),
    *("/organizations/uni", "/organizations/uni/users"),
)


class Installed(Processes):
    """An installation in a folder, with the defaults of all paths."""

    def start(self, module: str) -> None:
        """Start a module as a reader does: in the folder."""
        with (self.folder / f"{module}.log").open("ab") as log:
            self.running[module] = subprocess.Popen(  # noqa: S603 - our own modules
                [sys.executable, "-m", module],
                env={**os.environ, **self.environment},
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def stop(self, module: str) -> None:
        """Stop a process as an operator does, and wait for its end."""
        self.running[module].send_signal(signal.SIGTERM)
        assert self.running[module].wait(60) == 0, self.log(module)[-3000:]


def installed(folder: Path) -> Installed:
    ports = {module: free_port() for module in MODULES}
    environment = {"HEDDLE_GATEWAY_DEVELOPMENT": "1"}
    for module, name in MODULES.items():
        for setting in ("LISTEN", "ADDRESS"):
            environment[f"HEDDLE_{name}_{setting}"] = f"127.0.0.1:{ports[module]}"
        environment[f"HEDDLE_{name}_DRAIN_WAIT"] = "0"
    return Installed(folder, environment, ports)


async def seen(it: Installation, cookie: httpx.Cookies) -> dict[str, Any]:
    """Return what the person sees with her key and her session, and the operator."""
    shown: dict[str, Any] = {}
    async with it.client(it.key) as ana:
        for path in (*SEEN, f"/assistants/{it.assistant}", f"/v1/files/{it.lecture}/content"):
            response = await ana.get(path)
            assert response.status_code == 200, f"{path}: {response.text}"
            shown[path] = response.text
        keys = json.loads(shown.pop("/keys"))["keys"]  # their times of use differ
        shown["keys"] = [(each["id"], each["name"], each["user"]) for each in keys]
        path = f"/v1/vector_stores/{it.shared_store}/search"
        response = await ana.post(path, json={"query": "Who threw the shuttle?"})
        assert response.status_code == 200, response.text
        shown["passages"] = [each["content"] for each in response.json()["data"]]
    async with httpx.AsyncClient(base_url=it.url, cookies=cookie, trust_env=False) as browser:
        shown["/v1/me"] = (await browser.get("/v1/me")).text
    return shown


async def session(it: Installation) -> httpx.Cookies:
    """Sign the person in, and return the cookie."""
    async with it.client() as browser:
        body = {"email": it.email, "password": f"{it.canary}-Pa55", "organization": "uni"}
        response = await browser.post("/login", json=body)
        assert response.status_code == 200, response.text
        return response.cookies


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
async def test_data_keys_and_ids_of_one_process_serve_many_and_one_again(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    heddle = installed(tmp_path)
    (one,) = ONE_PROCESS
    (block,) = [each for each in blocks(PAGE) if each.language == "bash"]
    started = f"set -m; {block.text}\nprintf '%s\\n' $(jobs -p) > pids"

    await asyncio.to_thread(heddle.start, one)
    try:
        await asyncio.to_thread(heddle.wait_until_ready, one, 300)
        it = Installation(tmp_path / ".heddle", heddle.url)
        await fill(it, f"sqlite:///{tmp_path}/.heddle/heddle.db")
        cookie = await session(it)
        before = await seen(it, cookie)
        await asyncio.to_thread(heddle.stop, one)

        environment = {**os.environ, **heddle.environment}
        subprocess.run(["bash", "-c", started], cwd=tmp_path, env=environment, check=True)  # noqa: ASYNC221, S603, S607 - the page's commands
        processes = [int(each) for each in (tmp_path / "pids").read_text().split()]
        try:
            assert len(processes) == len(MODULES)
            await all_ready(heddle)
            assert await seen(it, cookie) == before
            async with it.client(it.key) as ana:
                body = {"name": "later", "model": {"connector": "bypass", "model": "simple-bypass"}}
                later = await ana.post("/assistants", json=body)
                assert int(later.json()["id"]) > int(it.assistant)
        finally:
            for each in processes:
                os.kill(each, signal.SIGTERM)
        await ended(processes)

        await asyncio.to_thread(heddle.start, one)
        await asyncio.to_thread(heddle.wait_until_ready, one, 300)
        async with it.client(it.key) as ana:
            assert (await ana.get(f"/assistants/{later.json()['id']}")).json()["name"] == "later"
    finally:
        for process in heddle.running.values():
            process.kill()
            process.wait()


async def all_ready(heddle: Processes) -> None:
    """Wait until all services answer, and the gateway reaches them."""
    async with asyncio.timeout(500):
        for module in MODULES:
            while not await asyncio.to_thread(heddle.is_ready, module):
                assert "cannot start" not in heddle.log(module), heddle.log(module)[-1000:]
                await asyncio.sleep(0.05)
        async with httpx.AsyncClient(base_url=heddle.url, trust_env=False) as client:
            while (await client.get("/health")).status_code != 200:
                await asyncio.sleep(0.05)
    assert GATEWAY in heddle.ports


async def ended(processes: list[int]) -> None:
    """Wait until processes have ended that are no children of this one."""
    async with asyncio.timeout(60):
        for each in processes:
            while is_running(each):
                await asyncio.sleep(0.02)


def is_running(process: int) -> bool:
    """Say whether a process runs: one that ended may wait to be noticed."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
