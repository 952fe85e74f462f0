"""One of two replicas hangs: its process is stopped, or a handler blocks its event loop."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

import pytest
import pytest_asyncio
from chaos.load import WHOLE
from chaos.report import Report
from chaos.stage import Stage, running_stage
from heddle_runtime.rpc.multiplex.channel import MAX_REQUEST_BYTES
from integration.processes import Processes
from integration.whole import write_assistant
from patience import until
from runtime.ports import free_port

CONNECTOR = "heddle_connector"
HANG_SECONDS, NOTICED_SECONDS = 9.0, 5.0
ANSWERS = 10
"""More than the calls that a replica can have when it begins to hang."""
PLUGIN = f'''
import time
from heddle_connector.sdk import Connector, Done, Example, Model, NoSettings, Usage, connector

@connector("blocks", example=Example(model="m", answer=""), for_all_organizations=True)
class Blocks(Connector[NoSettings]):
    """Blocks the event loop."""

    async def models(self, seconds):
        return [Model("m")]

    async def generate(self, call):
        time.sleep({HANG_SECONDS})
        yield [Done("stop", Usage(), call.model)]
'''

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(200)]


@dataclass
class Pair:
    """All processes, and two replicas of the connector service."""

    stage: Stage
    replicas: tuple[Processes, Processes]

    async def answered(self, replica: Processes, count: int) -> None:
        """Wait until a replica has answered so many calls from now on."""
        before = _answers(replica)
        await until(lambda: _answers(replica) >= before + count)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    """Two connector services, which the scenarios share, and one of each other service."""
    folder = tmp_path_factory.mktemp("hung")
    (folder / "connectors").mkdir()
    (folder / "connectors" / "blocks.py").write_text(PLUGIN)
    (folder / "second").mkdir()
    write_assistant(folder, "blocks", "model: {connector: blocks, model: m}\n")
    first, second = (f"127.0.0.1:{free_port()}" for _ in range(2))
    settings = {
        "HEDDLE_CONNECTOR_LISTEN": first,
        "HEDDLE_CONNECTOR_ADDRESS": f"ipv4:{first},{second}",
        "HEDDLE_CONNECTOR_PLUGINS_DIR": str(folder / "connectors"),
        "HEDDLE_IDENTITY_SECRET": "i" * 40,
    }
    async with running_stage(folder, **settings) as stage:
        environment = {**stage.heddle.environment, "HEDDLE_CONNECTOR_LISTEN": second}
        other = replace(stage.heddle, folder=folder / "second", environment=environment, running={})
        await asyncio.to_thread(other.start, CONNECTOR)
        try:
            await asyncio.to_thread(other.wait_until_ready, CONNECTOR)
            # Of two questions one is so large that it is a gRPC call of its own.
            stage.load.questions = ("hi", "x" * MAX_REQUEST_BYTES)
            yield Pair(stage, (stage.heddle, other))
        finally:
            other.kill(CONNECTOR)


Hang = Callable[[Pair], Awaitable[tuple[Processes, Callable[[], None]]]]
"""Makes a replica hang; returns the replica and what ends that."""


async def _stop(pair: Pair) -> tuple[Processes, Callable[[], None]]:
    hung = pair.replicas[0]
    hung.running[CONNECTOR].send_signal(signal.SIGSTOP)
    return hung, lambda: hung.running[CONNECTOR].send_signal(signal.SIGCONT)


async def _block(pair: Pair) -> tuple[Processes, Callable[[], None]]:
    def blocked() -> list[Processes]:
        return [it for it in pair.replicas if "event loop blocked" in it.log(CONNECTOR)]

    started = time.monotonic()
    outcome, detail = await pair.stage.load.once(WHOLE, "blocks")
    pair.stage.history.record(WHOLE, outcome, started, detail)
    assert outcome == "error", detail
    await until(blocked)
    return blocked()[0], lambda: None


@pytest.mark.parametrize(
    ("fault", "hang"),
    [
        pytest.param("stopped", _stop, marks=pytest.mark.chaos),
        pytest.param("blocked", _block, marks=pytest.mark.exhaustive),
    ],
)
async def test_a_replica_that_hangs_gets_no_calls_until_it_responds_again(
    pair: Pair, report: Report, fault: str, hang: Hang
) -> None:
    stage = pair.stage
    await stage.begin()
    for replica in pair.replicas:
        await pair.answered(replica, 1)
    began = time.monotonic()
    hung, end = await hang(pair)
    await asyncio.sleep(began + HANG_SECONDS - time.monotonic())  # the length of the fault
    end()
    ended = time.monotonic()
    during = stage.history.since(began)
    later = stage.history.since(began + NOTICED_SECONDS)
    assert len(later) > ANSWERS
    assert all(it.outcome == "answer" and it.ended - it.started < 1 for it in later), later
    delayed = [it for it in during if it.outcome == "error" or it.ended - it.started >= 1]
    await pair.answered(hung, ANSWERS)
    recovered = time.monotonic() - ended
    await stage.load.check()
    report.add(
        f"one of two connector services {fault}",
        stage.history,
        noticed=max((it.ended for it in delayed), default=began) - began,
        recovered=recovered,
    )


def _answers(replica: Processes) -> int:
    return sum('"code":"OK"' in line for line in replica.log(CONNECTOR).splitlines())
