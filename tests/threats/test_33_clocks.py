"""Threat 33: the clocks of services differ by an hour, or jump."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from integration.browser import browser
from integration.processes import GATEWAY, MODULES, Processes, processes

SECRET = "a-secret-of-at-least-32-characters"
ASSISTANT = (
    "id: '1'\nname: echo\npublished: true\nmodel: {connector: bypass, model: simple-bypass}\n"
    "prompt_template: '{user_input}'\n"
)
HOUR = 3600
CLOCK = f"""
import os, sys, time
_file = os.path.join(os.environ["CLOCKS"], sys.orig_argv[-1])
_time = time.time
_time_ns = time.time_ns
def _ahead():
    try:
        with open(_file) as file:
            return {HOUR} * int(file.read())
    except (OSError, ValueError):
        return 0
time.time = lambda: _time() + _ahead()
time.time_ns = lambda: _time_ns() + 10**9 * _ahead()
"""
"""Runs at the start of each process: the hours in a file move its wall clock, at any time."""
ORCHESTRATOR = "heddle_orchestrator"
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Clocks:
    """Services, each with a clock of its own."""

    def __init__(self, services: Processes, folder: Path) -> None:
        self.services = services
        self._folder = folder

    def set(self, hours: int, *modules: str) -> None:
        """Move the clocks of processes against that of the machine."""
        for module in modules:
            (self._folder / module).write_text(str(hours))

    def restart(self, module: str, hours: int) -> None:
        """Restart a process with another clock. It knows no token then."""
        self.set(hours, module)
        self.services.kill(module)
        self.services.start(module)
        self.services.wait_until_ready(module)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clocks(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clocks]:
    folder = tmp_path_factory.mktemp("clocks")
    for name in ("assistants", "clocks", "start"):
        (folder / name).mkdir()
    (folder / "assistants" / "1.yaml").write_text(ASSISTANT)
    (folder / "start" / "sitecustomize.py").write_text(CLOCK)
    async with processes(
        folder,
        CLOCKS=str(folder / "clocks"),
        PYTHONPATH=str(folder / "start"),
        HEDDLE_IDENTITY_SECRET=SECRET,
        HEDDLE_ORCHESTRATOR_ASSISTANT_CACHE_SECONDS="0",
    ) as services:
        yield Clocks(services, folder / "clocks")


async def chat(client: httpx.AsyncClient, *, stream: bool) -> httpx.Response:
    messages = [{"role": "user", "content": "A heddle?"}]
    body = {"model": "echo", "messages": messages, "stream": stream}
    return await client.post("/v1/chat/completions", json=body)


async def works(client: httpx.AsyncClient) -> bool:
    answers = await asyncio.gather(*(chat(client, stream=each) for each in (False, True)))
    return all(each.status_code == 200 and "A heddle?" in each.text for each in answers)


@pytest.mark.exhaustive
@pytest.mark.parametrize("hours", [1, -1])
async def test_a_service_with_a_wrong_clock_refuses_and_is_named(
    clocks: Clocks, hours: int
) -> None:
    async with browser(clocks.services.url, "") as client:
        assert await works(client)
        await asyncio.to_thread(clocks.restart, ORCHESTRATOR, hours)
        try:
            async with asyncio.timeout(10):  # the gateway connects again
                while "clocks that agree" not in (await client.get("/health/details")).text:
                    await asyncio.sleep(0.1)
            for stream in (False, True):
                begin = asyncio.get_running_loop().time()
                answer = await chat(client, stream=stream)
                assert asyncio.get_running_loop().time() - begin < 5
                assert "A heddle?" not in answer.text
                assert "error" in answer.text
            assert (await client.get("/health")).status_code == 503
        finally:
            clocks.set(0, ORCHESTRATOR)

        async with asyncio.timeout(10):
            while not await works(client):
                await asyncio.sleep(0.1)
    assert clocks.services.running[GATEWAY].poll() is None


@pytest.mark.exhaustive
async def test_requests_go_on_when_all_clocks_jump(clocks: Clocks) -> None:
    async with browser(clocks.services.url, "") as client:
        assert await works(client)
        for hours in (1, -1, 0):
            asking = [asyncio.create_task(works(client)) for _ in range(10)]
            clocks.set(hours, *MODULES)
            await asyncio.gather(*asking)  # tokens signed before a jump may be refused
            # A stream whose token is refused opens a second later. Calls are plain until then;
            # gRPC computes their deadlines by this clock, but compares them with the machine's.
            async with asyncio.timeout(5):
                while not await works(client):
                    await asyncio.sleep(0.1)
            for _ in range(10):
                assert await works(client), hours
