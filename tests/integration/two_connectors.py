"""A gateway and two replicas of the connector service, of two versions, as processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from integration.processes import GATEWAY, MODULES, Processes
from runtime.ports import free_port

CONNECTOR = "heddle_connector"
HOST = "127.0.0.1"
OTHER_VERSION = "0.0.9"


@dataclass
class Pair:
    """The processes, of which the second connector service has another version."""

    first: Processes
    """The gateway, and a connector service."""
    second: Processes
    addresses: list[str]
    """Of the first and the second connector service."""


@contextmanager
def two_connectors(folder: Path, host: str = HOST) -> Iterator[Pair]:
    """Run them.

    Args:
        folder: Where they keep their data.
        host: What the gateway knows of both: their IP address, or a name that it looks up.
    """
    ports = {module: free_port() for module in MODULES}
    second_port = free_port()
    environment = {
        **{f"HEDDLE_{name}_ADDRESS": f"{HOST}:{ports[it]}" for it, name in MODULES.items()},
        "HEDDLE_CONNECTOR_ADDRESS": f"{host}:{ports[CONNECTOR]},{host}:{second_port}",
        "HEDDLE_CONNECTOR_LISTEN": f"{HOST}:{ports[CONNECTOR]}",
        "HEDDLE_GATEWAY_LISTEN": f"{HOST}:{ports[GATEWAY]}",
        "HEDDLE_GATEWAY_DEVELOPMENT": "1",
        "HEDDLE_LOCAL_SECRET_FILE": str(folder / "identity-secret"),
    }
    others = {
        "HEDDLE_CONNECTOR_LISTEN": f"{HOST}:{second_port}",
        "PYTHONPATH": f"{_other_version(folder)}:{os.environ.get('PYTHONPATH', '')}",
    }
    (folder / "second").mkdir()
    first = Processes(folder, environment, ports, cwd=folder)
    second = replace(first, folder=folder / "second", environment=environment | others, running={})
    try:
        first.start(GATEWAY)
        first.start(CONNECTOR)
        second.start(CONNECTOR)
        first.wait_until_ready(GATEWAY)
        yield Pair(first, second, [f"{HOST}:{port}" for port in (ports[CONNECTOR], second_port)])
    finally:
        for process in (*first.running.values(), *second.running.values()):
            process.kill()
            process.wait()


def _other_version(folder: Path) -> Path:
    """Return a folder that, on the path of a process, gives it another version."""
    described = folder / "other" / f"heddle_runtime-{OTHER_VERSION}.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: heddle-runtime\nVersion: {OTHER_VERSION}\n"
    )
    return described.parent
