"""Faults of processes, disks, connections and providers, under load."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
import pytest_asyncio
from _pytest.mark import ParameterSet
from chaos.load import READ, STREAMED, WHOLE, WRITE
from chaos.report import Report
from chaos.stage import STALL_SECONDS, Stage, running_stage
from full_disk import needs_root, small_disk
from integration.processes import GATEWAY, MODULES
from patience import until

ASSISTANTS = "heddle_assistants"
ORCHESTRATOR = "heddle_orchestrator"
CUTS, OPERATIONS = 10, 50
DELAY_SECONDS = 3.0


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
    await stage.load.exposed()
    await stage.restart(module)
    recovered = await stage.load.recovered()
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
    await until(lambda: len(stage.history.since(paused + 6)) >= OPERATIONS)
    later = stage.history.since(paused + 6)
    assert all(it.ended - it.started < 1 for it in later), later
    longest = stage.history.longest()
    stage.resume(module)
    recovered = await stage.load.recovered()
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
        await until(stage.connections.count)
        await stage.load.exposed(1)
    recovered = await stage.load.recovered()
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
    recovered = await stage.load.recovered()
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
    stage.provider.delay = DELAY_SECONDS
    delayed = time.monotonic()
    await until(lambda: _longest(stage, delayed, STREAMED, WHOLE) >= DELAY_SECONDS)
    stage.provider.delay = 0.0
    longest = _longest(stage, delayed, WRITE, READ)
    recovered = await stage.load.recovered()
    await stage.load.check()
    assert 0 < longest < 2
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
    await stage.load.exposed(10)
    assert len(stage.history.acknowledged) == acknowledged
    problems = [it["problem"] for it in await stage.components("assistants") if not it["ready"]]
    assert str(folder / "heddle.db") in "".join(problems)
    _move(folder, "moved.db", "heddle.db")
    recovered = await stage.load.recovered()
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
            await stage.load.exposed()
            disk.free()
            recovered = await stage.load.recovered()
            await stage.load.check()
            assert "Traceback" not in stage.heddle.log(ASSISTANTS)
            report.add("disk full", stage.history, noticed=noticed, recovered=recovered)


def _longest(stage: Stage, moment: float, *kinds: str) -> float:
    """Return the seconds of the longest operation of some kinds that began after `moment`."""
    operations = stage.history.since(moment)
    return max((it.ended - it.started for it in operations if it.kind in kinds), default=0)


def _move(folder: Path, source: str, target: str) -> None:
    """Rename a database and its log, which SQLite finds by the name."""
    for ending in ("", "-wal", "-shm"):
        (folder / f"{source}{ending}").rename(folder / f"{target}{ending}")
