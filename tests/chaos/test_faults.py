"""Faults of processes, disks, connections and providers, under load."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
import pytest_asyncio
from _pytest.mark import ParameterSet
from chaos.load import STREAMED, WHOLE
from chaos.report import Report
from chaos.stage import STALL_SECONDS, Stage, running_stage
from full_disk import needs_root, small_disk
from integration.processes import GATEWAY, MODULES

ASSISTANTS = "heddle_assistants"
ORCHESTRATOR = "heddle_orchestrator"
CUTS = 10


def _subset(values: Iterable[str], *chosen: str) -> list[ParameterSet]:
    """Return parameters; `make test-all` runs those with the chosen values only."""
    marks = {True: pytest.mark.exhaustive, False: pytest.mark.chaos}
    return [pytest.param(value, marks=marks[value in chosen]) for value in values]


pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(200)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the processes."""
    return tmp_path_factory.mktemp("chaos")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(folder: Path) -> AsyncIterator[Stage]:
    """All processes, which the scenarios share."""
    async with running_stage(folder) as running:
        yield running


@pytest.mark.parametrize("module", _subset(MODULES, ASSISTANTS, "heddle_connector", GATEWAY))
async def test_a_killed_process_tears_no_answer(stage: Stage, report: Report, module: str) -> None:
    await stage.begin()
    await asyncio.to_thread(stage.heddle.kill, module)
    await asyncio.sleep(1)
    await stage.restart(module)
    recovered = await stage.recovered()
    await stage.load.check()
    name = module.removeprefix("heddle_").removesuffix("_service")
    ends = module == GATEWAY
    report.add(
        f"{name} service killed" if not ends else "gateway killed",
        stage.history,
        recovered=recovered,
        gateway_ends=ends,
    )


@pytest.mark.parametrize("module", _subset([ASSISTANTS, ORCHESTRATOR], ORCHESTRATOR))
async def test_a_paused_process_is_noticed(stage: Stage, report: Report, module: str) -> None:
    await stage.begin()
    paused = time.monotonic()
    stage.pause(module)
    noticed = await stage.unready(module.removeprefix("heddle_"))
    await asyncio.sleep(max(0.0, paused + 6 - time.monotonic()))
    await asyncio.sleep(2)
    later = [it for it in stage.history.operations if it.started > paused + 6]
    assert later
    assert all(it.ended - it.started < 1 for it in later), later
    longest = stage.history.longest()
    stage.resume(module)
    recovered = await stage.recovered()
    await stage.load.check()
    name = module.removeprefix("heddle_")
    report.add(
        f"{name} service paused",
        stage.history,
        noticed=max(noticed, longest),
        recovered=recovered,
    )


@pytest.mark.exhaustive
async def test_cut_connections_between_all_processes_end_typed(
    stage: Stage, report: Report
) -> None:
    await stage.begin()
    count = 0
    for _ in range(CUTS):
        count += stage.connections.cut()
        await asyncio.sleep(0.3)
    recovered = await stage.recovered()
    await stage.load.check()
    assert count > CUTS
    report.add(f"{count} connections cut", stage.history, recovered=recovered)


@pytest.mark.parametrize("kind", _subset([STREAMED, WHOLE], STREAMED))
async def test_a_provider_that_stops_in_mid_answer_ends_typed(
    stage: Stage, report: Report, kind: str
) -> None:
    await stage.begin()
    started = time.monotonic()
    outcomes = await asyncio.gather(*(stage.load.once(kind, "2") for _ in range(8)))
    noticed = time.monotonic() - started
    recovered = await stage.recovered()
    await stage.load.check()
    for outcome, detail in outcomes:
        stage.history.record(kind, outcome, started, detail)
        assert outcome == "error", detail
        assert "stopped in the middle of its answer" in detail
    assert noticed >= STALL_SECONDS
    report.add(f"provider stops in a {kind}", stage.history, noticed=noticed, recovered=recovered)


@pytest.mark.chaos
async def test_a_slow_provider_delays_only_its_own_answers(stage: Stage, report: Report) -> None:
    await stage.begin()
    stage.provider.delay = 3.0
    await asyncio.sleep(4)
    others = [it for it in stage.history.operations if it.kind not in (STREAMED, WHOLE)]
    stage.provider.delay = 0.0
    recovered = await stage.recovered()
    await stage.load.check()
    assert len(others) > 20
    assert max(it.ended - it.started for it in others) < 2
    report.add(
        "provider answers after 3 s", stage.history, recovered=recovered, errors_allowed=False
    )


@pytest.mark.exhaustive
async def test_a_removed_database_loses_no_acknowledged_write(
    stage: Stage, folder: Path, report: Report
) -> None:
    await stage.begin()
    _move(folder, "heddle.db", "moved.db")
    noticed = await stage.unready("assistants")
    acknowledged = len(stage.history.acknowledged)
    await asyncio.sleep(2)
    assert len(stage.history.acknowledged) == acknowledged
    problems = [it["problem"] for it in await stage.components("assistants") if not it["ready"]]
    assert str(folder / "heddle.db") in "".join(problems)
    _move(folder, "moved.db", "heddle.db")
    recovered = await stage.recovered()
    await stage.load.check()
    report.add("database removed and put back", stage.history, noticed=noticed, recovered=recovered)


@needs_root
@pytest.mark.chaos
async def test_a_full_disk_is_reported_and_survived(tmp_path: Path, report: Report) -> None:
    with small_disk(tmp_path / "disk", 48) as disk:
        url = f"sqlite:///{disk.folder}/heddle.db"
        async with running_stage(tmp_path, HEDDLE_ASSISTANTS_DATABASE=url) as stage:
            await stage.begin()
            disk.fill()
            noticed = await stage.unready("assistants")
            await asyncio.sleep(1)
            disk.free()
            recovered = await stage.recovered()
            await stage.load.check()
            assert "Traceback" not in stage.heddle.log(ASSISTANTS)
            report.add("disk full", stage.history, noticed=noticed, recovered=recovered)


def _move(folder: Path, source: str, target: str) -> None:
    """Rename a database and its log, which SQLite finds by the name."""
    for ending in ("", "-wal", "-shm"):
        (folder / f"{source}{ending}").rename(folder / f"{target}{ending}")
