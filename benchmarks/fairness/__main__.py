"""`python -m benchmarks.fairness`: what the others notice of an organisation that overloads Heddle.

Prints the 95th percentile of chats, searches and one-line uploads, alone and beside the load, and
exits with 1 if one of them exceeds the larger of twice the time alone and 100 ms more.
"""

import argparse
import asyncio
import contextlib
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.fairness.tenants import LOUD, Tenant, key, probes
from benchmarks.gateway.processes import Command, free_ports, started
from benchmarks.gateway.systems import heddle_environment

_SERVICES = (
    *("heddle_gateway", "heddle_orchestrator", "heddle_tools_service", "heddle_knowledge"),
    *("heddle_connector", "heddle_assistants", "heddle_migration_service"),
)
_READY_SECONDS = 90.0
_WARMING_ROUNDS = 10
"""The first requests load modules and start processes."""
_RAMP_SECONDS = 4.0
"""Until the load is at its height."""
_ALLOWED_FACTOR, _ALLOWED_SECONDS = 2.0, 0.1
_MILLISECONDS = 1_000


def options() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks.fairness", description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000, help="hostile documents [1000]")
    parser.add_argument("--chats", type=int, default=200, help="parallel hostile chats [200]")
    parser.add_argument("--organisations", type=int, default=1, help="others [1]")
    parser.add_argument("--rounds", type=int, default=40, help="of each organisation [40]")
    parser.add_argument(
        "--concurrent", type=int, default=0, help="requests that one organisation may run [any]"
    )
    return parser.parse_args()


async def run(arguments: argparse.Namespace, folder: Path) -> bool:
    """Measure and print; return whether the load stays within what is allowed."""
    upstream, *ports = free_ports(1 + len(_SERVICES))
    names = [f"quiet-{number}" for number in range(arguments.organisations)]
    settings = heddle_environment(ports, upstream, folder / "heddle")
    del settings["HEDDLE_GATEWAY_DEVELOPMENT"]
    keys = folder / "keys.yaml"
    keys.write_text("".join(map(_owner, [LOUD, *names])))
    settings |= {
        "HEDDLE_GATEWAY_API_KEYS": str(keys),
        "HEDDLE_GATEWAY_ORGANIZATION_CONCURRENT_REQUESTS": str(arguments.concurrent),
        "HEDDLE_IDENTITY_SECRET": "a-secret-of-the-benchmark-of-fairness",
        "HEDDLE_LOG_LEVEL": "WARNING",
    }
    logs = folder / "logs"
    logs.mkdir()
    commands = [Command("benchmarks.gateway.upstream", (str(upstream),))]
    commands += [Command(module, environment=settings) for module in _SERVICES]
    address = f"127.0.0.1:{ports[0]}"
    with started(commands, logs):
        await _ready(address)
        tenants = [Tenant(name, address) for name in names]
        for tenant in tenants:
            async with tenant.client() as client:
                await tenant.prepare(client)
        rounds = max(2, arguments.rounds // len(tenants))
        await probes(tenants, 1 + _WARMING_ROUNDS // len(tenants))
        _taken(tenants)
        await probes(tenants, rounds)
        alone = _taken(tenants)
        load = (address, str(arguments.documents), str(arguments.chats))
        attack = Command("benchmarks.fairness.attack", load)
        with started([attack], logs) as [attacker]:
            await asyncio.sleep(_RAMP_SECONDS)
            await probes(tenants, rounds)
            beside = _taken(tenants)
        print(attacker.log.read_text(), end="")
    return _report(alone, beside)


def _owner(name: str) -> str:
    person = f"subject: someone@{name}.example, organization: {name}"
    return f"{key(name)}: {{{person}, scopes: [creator]}}\n"


async def _ready(address: str) -> None:
    async with httpx.AsyncClient(base_url=f"http://{address}") as client:
        async with asyncio.timeout(_READY_SECONDS):
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get("/health")).status_code == httpx.codes.OK:
                        return
                await asyncio.sleep(0.2)


def _taken(tenants: Sequence[Tenant]) -> dict[str, list[float]]:
    """Return the durations of all tenants by what was done, and begin anew."""
    taken: dict[str, list[float]] = {}
    for tenant in tenants:
        for action, seconds in tenant.seconds.items():
            taken.setdefault(action, []).extend(seconds)
        tenant.seconds.clear()
    return taken


def _report(alone: dict[str, list[float]], beside: dict[str, list[float]]) -> bool:
    print(f"{'p95 in ms':<10}{'alone':>10}{'beside':>10}{'allowed':>10}")
    fair = True
    for action, seconds in alone.items():
        before, after = _p95(seconds), _p95(beside[action])
        allowed = max(before * _ALLOWED_FACTOR, before + _ALLOWED_SECONDS)
        fair = fair and after <= allowed
        shown = (value * _MILLISECONDS for value in (before, after, allowed))
        print(f"{action:<10}" + "".join(f"{value:>10.0f}" for value in shown))
    return fair


def _p95(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=20, method="inclusive")[-1]


def main() -> None:
    """Run the benchmark."""
    with TemporaryDirectory(prefix="heddle-fairness-") as folder:
        fair = asyncio.run(run(options(), Path(folder)))
    sys.exit(0 if fair else 1)


if __name__ == "__main__":
    main()
