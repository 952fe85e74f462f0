"""What is printed and what is kept."""

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from benchmarks.gateway.gate import Verdict
from benchmarks.gateway.measure import Measurement
from benchmarks.gateway.scenarios import SCENARIOS, Scenario
from benchmarks.gateway.summary import Spread, Summary
from benchmarks.gateway.systems import ALL, DIRECT

HARNESS_BOUND = 0.9
"""Share of the direct rate above which the harness, not the system, may have set the pace."""
PACKAGES = ("grpcio", "protobuf", "uvloop", "uvicorn", "httptools", "aiohttp", "msgspec")
HEADINGS = (
    "system",
    "rate /s",
    "p50 ms",
    "p99 ms",
    "added p50",
    "added p99",
    "TTFT ms",
    "age p50/p99",
    "CPU us",
    "CPU x reference",
    "CPU x one process",
    "rate x reference",
    "delivered",
    "PSS MiB",
    "notes",
)


def circumstances(flags: dict[str, object]) -> dict[str, object]:
    """Return what the figures depend on besides the code."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "grpc_experiments": os.environ.get("GRPC_EXPERIMENTS", ""),
        "flags": flags,
    }


def table(scenario: Scenario, summaries: Sequence[Summary]) -> str:
    """Return the results of one scenario as a Markdown table."""
    own = [one for one in summaries if one.scenario == scenario.name]
    own.sort(key=lambda one: ALL.index(one.system))
    rows = [HEADINGS, *(_row(one, scenario) for one in own)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, _line(["-" * width for width in widths], widths))
    foreign = max((one.foreign.high for one in own), default=0.0)
    title = f"{scenario.name}: {scenario.title}; per {scenario.unit}; foreign CPU <= {foreign:.0%}"
    return "\n".join([title, "", *lines, ""])


def tables(summaries: Sequence[Summary]) -> str:
    """Return the tables of all scenarios that were run."""
    known = {one.scenario for one in summaries}
    return "\n".join(table(one, summaries) for one in SCENARIOS if one.name in known)


def keep(
    path: Path,
    where: dict[str, object],
    summaries: Sequence[Summary],
    verdicts: Sequence[Verdict],
    measurements: Sequence[Measurement],
) -> None:
    """Write everything to `path` as JSON."""
    gate = [{"limit": str(verdict), "kept": verdict.kept} for verdict in verdicts]
    content = {**where, "gate": gate, "summaries": summaries, "measurements": measurements}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def _row(one: Summary, scenario: Scenario) -> tuple[str, ...]:
    ages = (
        f"{_number(one.age_p50.median)}/{_number(one.age_p99.median)}" if scenario.stream else "-"
    )
    measured = bool(one.cpu.high)
    return (
        one.system,
        _number(one.rate.median),
        _number(one.p50.median),
        _number(one.p99.median),
        _middle(one.added_p50),
        _middle(one.added_p99),
        _number(one.first_token.median) if scenario.stream else "-",
        ages,
        _range(one.cpu) if measured else "-",
        _range(one.cpu_to_reference) if measured else "-",
        _range(one.cpu_to_one) if measured else "-",
        _middle(one.rate_to_reference),
        _middle(one.delivered),
        _number(one.memory.median) if measured else "-",
        ", ".join(_notes(one, scenario)),
    )


def _notes(one: Summary, scenario: Scenario) -> Iterable[str]:
    if one.errors:
        yield f"{one.errors} ERRORS: {one.first_error}"
    if one.busy_rounds:
        yield f"{one.busy_rounds} busy rounds"
    if one.system == DIRECT or scenario.pace_ms or one.delivered is None:
        return
    if one.delivered.median > HARNESS_BOUND:
        yield "harness-bound"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def _middle(spread: Spread | None) -> str:
    return _number(spread.median) if spread else "-"


def _range(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    return f"{_number(spread.median)} ({_number(spread.low)}-{_number(spread.high)})"


def _number(value: float) -> str:
    """Return `value` with three digits that matter."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
