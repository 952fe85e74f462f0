"""Two replicas of everything, of which one after the other is killed under load."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
import pytest_asyncio
from chaos.fleet import MODEL, Fleet, fleet
from chaos.report import Report
from chaos.stored_load import StoredLoad
from integration.processes import GATEWAY, MODULES
from patience import until

CLIENTS = 2
SHARE = 0.4
CALLS = 100
"""Enough that chance does not decide the shares."""

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.exhaustive,
    pytest.mark.timeout(300),
]


@dataclass
class Stage:
    """The replicas and their load."""

    fleet: Fleet
    load: StoredLoad

    async def check(self) -> None:
        """End the load, and read all that was acknowledged from each gateway."""
        async with AsyncExitStack() as exits:
            clients = self.fleet.at_each_gateway()
            for client in clients:
                await exits.enter_async_context(client)
            await self.load.check_at(clients)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(
    tmp_path_factory: pytest.TempPathFactory, shared_servers: dict[str, str]
) -> AsyncIterator[Stage]:
    """The replicas, which all tests share, and an assistant that searches the collection."""
    async with fleet(tmp_path_factory.mktemp("fleet"), shared_servers) as running:
        load = StoredLoad(running.client, model=MODEL, pause=0.1)
        await load.prepare(CLIENTS)
        tool = {"type": "simple_rag", "config": {"collections": [load.store]}, "slot": "context"}
        body = {
            "name": "tutor",
            "model": MODEL,
            "tools": [tool],
            "prompt_template": "{context}\n{user_input}",
        }
        response = await running.client.post("/assistants", json=body)
        assert response.is_success, response.text
        load.assistant = f"lamb_assistant.{response.json()['id']}"
        try:
            yield Stage(running, load)
        finally:
            await load.stop()


async def test_two_replicas_of_each_service_share_its_calls(stage: Stage) -> None:
    replicas = stage.fleet.replicas
    before = {module: replicas.calls(module) for module in MODULES}

    def since(module: str) -> list[int]:
        pairs = zip(replicas.calls(module), before[module], strict=True)
        return [now - then for now, then in pairs]

    stage.load.start(CLIENTS)
    await until(lambda: all(sum(since(module)) >= CALLS for module in MODULES), 120)
    await stage.check()
    assert not stage.load.history.ends("error", "torn", "untyped")
    assert not stage.load.history.lost
    counts = {module: since(module) for module in MODULES}
    assert all(min(each) >= SHARE * sum(each) for each in counts.values()), counts


@pytest.mark.parametrize("module", MODULES)
async def test_each_replica_is_killed_and_no_acknowledged_data_is_lost(
    stage: Stage, report: Report, module: str
) -> None:
    load, replicas = stage.load, stage.fleet.replicas
    load.start(CLIENTS)
    await load.steady()
    recovered = 0.0
    for number, replica in enumerate(replicas.pair):
        await asyncio.to_thread(replica.kill, module)
        await load.exposed()
        await asyncio.to_thread(replica.start, module)
        await asyncio.to_thread(replica.wait_until_ready, module)
        ready = time.monotonic()
        earlier = replicas.calls(module)[number]
        await until(lambda: replicas.calls(module)[number] > earlier)  # noqa: B023 - of this turn
        recovered = max(recovered, time.monotonic() - ready)
    await stage.check()
    name = module.removeprefix("heddle_").removesuffix("_service")
    report.add(
        f"each of two {name} replicas killed",
        load.history,
        recovered=recovered,
        gateway_ends=module == GATEWAY,
    )
