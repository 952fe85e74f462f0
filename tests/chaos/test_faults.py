"""Faults of processes and of their disks, under load."""

import asyncio
import time
from pathlib import Path

import pytest
from chaos.load import READ, STREAMED, WHOLE, WRITE
from chaos.report import Report
from chaos.stage import chaos
from full_disk import needs_root, small_disk
from integration.processes import GATEWAY, MODULES

ASSISTANTS = "heddle_assistants"
BEHIND = [module for module in MODULES if module != GATEWAY]


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
async def test_a_removed_database_loses_no_acknowledged_write(
    tmp_path: Path, report: Report
) -> None:
    async with chaos(tmp_path) as stage:
        await stage.steady()
        database = tmp_path / "heddle.db"
        _move(tmp_path, "heddle.db", "moved.db")
        noticed = await stage.unready("assistants")
        acknowledged = len(stage.history.acknowledged)
        await asyncio.sleep(2)
        assert len(stage.history.acknowledged) == acknowledged
        (component,) = await stage.components("assistants")
        assert not component["ready"]
        assert str(database) in component["problem"]
        _move(tmp_path, "moved.db", "heddle.db")
        recovered = await stage.recovered()
        await stage.check()
        report.add("database removed and put back", stage, noticed=noticed, recovered=recovered)


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
@pytest.mark.parametrize("module", [ASSISTANTS, "heddle_orchestrator"])
async def test_a_paused_process_is_noticed(tmp_path: Path, report: Report, module: str) -> None:
    async with chaos(tmp_path) as stage:
        await stage.steady()
        paused = time.monotonic()
        stage.pause(module)
        noticed = await stage.unready(module.removeprefix("heddle_"))
        await asyncio.sleep(6)
        begun = [it for it in stage.history.operations if it.started > paused + 6]
        assert all(it.ended - it.started < 1 for it in begun), begun
        stage.resume(module)
        recovered = await stage.recovered()
        await stage.check()
        longest = stage.history.longest([STREAMED, WHOLE, READ, WRITE])
        report.add(f"{module} paused", stage, noticed=max(noticed, longest), recovered=recovered)


@needs_root
@pytest.mark.chaos
@pytest.mark.timeout(300)
async def test_a_full_disk_is_reported_and_survived(tmp_path: Path, report: Report) -> None:
    with small_disk(tmp_path / "disk", 48) as disk:
        url = f"sqlite:///{disk.folder}/heddle.db"
        async with chaos(tmp_path, HEDDLE_ASSISTANTS_DATABASE=url) as stage:
            await stage.steady()
            disk.fill()
            noticed = await stage.unready("assistants")
            await asyncio.sleep(1)
            disk.free()
            recovered = await stage.recovered()
            await stage.check()
            assert "Traceback" not in stage.heddle.log(ASSISTANTS)
            report.add("disk full", stage, noticed=noticed, recovered=recovered)


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("module", BEHIND)
async def test_a_killed_process_tears_no_answer(
    tmp_path: Path, report: Report, module: str
) -> None:
    async with chaos(tmp_path) as stage:
        await stage.steady()
        await asyncio.to_thread(stage.heddle.kill, module)
        await asyncio.sleep(1)
        await stage.restart(module)
        recovered = await stage.recovered()
        await stage.check()
        report.add(f"{module} killed", stage, recovered=recovered)


def _move(folder: Path, source: str, target: str) -> None:
    """Rename a database and its log, which SQLite finds by the name."""
    for ending in ("", "-wal", "-shm"):
        (folder / f"{source}{ending}").rename(folder / f"{target}{ending}")
