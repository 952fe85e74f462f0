"""The systems that are measured, and how each is started.

All that is known about Heddle stands here: its modules, its settings, one assistant.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gateway import peers
from benchmarks.gateway.processes import Command, Process, free_ports, started

DIRECT, REFERENCE, SEPARATE, ONE = "direct", "reference", "separate", "one process"
CALLS = "separate, no pipes"
LAMB = "in front of LAMB"
"""The gateway alone, which forwards each request to the upstream instead of LAMB."""
METERED = "one process, metrics"
OBSERVED = "one process, metrics and 1 % traces"
TRACED = "one process, 10 % traces"
"""Beside `ONE` in the same rounds, these show what metrics and traces cost."""
NAMES = (DIRECT, REFERENCE, LAMB, SEPARATE, CALLS, ONE)
ALL = (*NAMES, METERED, OBSERVED, TRACED, *peers.NAMES)
PATH = "/v1/chat/completions"
_LAMB_PATH = "/creator/assistant/1/chat/completions"
_SAMPLES = {OBSERVED: "0.01", TRACED: "0.1"}
"""The shares of requests that are traced."""
_ASSISTANT = "id: bench\nname: bench\nmodel: {connector: openai, model: fake}\n"
_ASSISTANT_MODEL = "lamb_assistant.bench"
_SERVICES = (
    "heddle_gateway",
    "heddle_orchestrator",
    "heddle_tools_service",
    "heddle_knowledge",
    "heddle_connector",
    "heddle_assistants",
    "heddle_migration_service",
)
_PORTS = len(_SERVICES)


@dataclass(frozen=True, slots=True)
class System:
    """A running system."""

    name: str
    port: int
    """Where it takes completion requests."""
    path: str
    model: str
    processes: tuple[Process, ...]
    """What its costs are summed over. Empty for `direct`: the upstream is not a cost."""

    @property
    def pids(self) -> list[int]:
        """The ids of its processes."""
        return [process.popen.pid for process in self.processes]


@contextmanager
def running(names: Sequence[str], folder: Path) -> Iterator[list[System]]:
    """Run the upstream and the systems of `names`. Nobody has checked yet that they answer."""
    logs = folder / "logs"
    logs.mkdir()
    upstream, collector, *free = free_ports(2 + _PORTS * len(names))
    with ExitStack() as stack:
        own = [Command("benchmarks.gateway.upstream", (str(upstream),))]
        if not _SAMPLES.keys().isdisjoint(names):
            own.append(Command("benchmarks.gateway.collector", (str(collector),)))
        stack.enter_context(started(own, logs))
        systems = []
        for number, name in enumerate(names):
            ports = free[number * _PORTS :][:_PORTS]
            commands = _commands(name, ports, upstream, folder, collector)
            processes = tuple(stack.enter_context(started(commands, logs)))
            bare = name in (DIRECT, REFERENCE, LAMB, *peers.NAMES)
            model = peers.MODEL if bare else _ASSISTANT_MODEL
            path = _LAMB_PATH if name == LAMB else PATH
            port = upstream if name == DIRECT else ports[0]
            systems.append(System(name, port, path, model, processes))
        yield systems


def heddle_environment(ports: Sequence[int], upstream: int, folder: Path) -> dict[str, str]:
    """Return the settings of every Heddle service; each reads those with its own prefix.

    Log levels, limits and checks stay as they are by default, which is what users run.
    """
    data, assistants = folder / "data", folder / "assistants"
    data.mkdir(parents=True)
    assistants.mkdir()
    (assistants / "bench.yaml").write_text(_ASSISTANT)
    addresses = (f"127.0.0.1:{port}" for port in ports)
    gateway, orchestrator, tools, knowledge, connector, assistants_service, migration = addresses
    return {
        "HEDDLE_GATEWAY_LISTEN": gateway,
        "HEDDLE_GATEWAY_DEVELOPMENT": "1",
        "HEDDLE_ASSISTANTS_ADDRESS": assistants_service,
        "HEDDLE_MIGRATION_ADDRESS": migration,
        "HEDDLE_ORCHESTRATOR_LISTEN": orchestrator,
        "HEDDLE_ORCHESTRATOR_ADDRESS": orchestrator,
        "HEDDLE_TOOLS_LISTEN": tools,
        "HEDDLE_TOOLS_ADDRESS": tools,
        "HEDDLE_KNOWLEDGE_LISTEN": knowledge,
        "HEDDLE_KNOWLEDGE_ADDRESS": knowledge,
        "HEDDLE_KNOWLEDGE_DATA_DIR": str(data / "knowledge"),
        "HEDDLE_TOOLS_FILES_DIR": str(data / "files"),
        "HEDDLE_TOOLS_RUBRICS_DIR": str(data / "rubrics"),
        "HEDDLE_CONNECTOR_LISTEN": connector,
        "HEDDLE_CONNECTOR_ADDRESS": connector,
        "HEDDLE_CONNECTOR_OPENAI_BASE_URL": f"http://127.0.0.1:{upstream}/v1",
        "HEDDLE_CONNECTOR_OPENAI_API_KEY": "benchmark",
        "HEDDLE_MIGRATION_LISTEN": migration,
        "HEDDLE_ASSISTANTS_LISTEN": assistants_service,
        "HEDDLE_ASSISTANTS_DIR": str(assistants),
        "HEDDLE_ASSISTANTS_DATABASE": f"sqlite:///{data}/heddle.db",
    }


def _commands(
    name: str, ports: Sequence[int], upstream: int, folder: Path, collector: int
) -> Sequence[Command]:
    if name == DIRECT:
        return []
    if name in peers.NAMES:
        return peers.commands(name, ports[0], upstream, folder / "peers")
    if name == REFERENCE:
        return [Command("benchmarks.gateway.reference", (str(ports[0]), str(upstream)))]
    modules = {LAMB: _SERVICES[:1], SEPARATE: _SERVICES, CALLS: _SERVICES}.get(
        name, ("heddle_devstack",)
    )
    settings = heddle_environment(ports, upstream, folder / f"system-{ports[0]}")
    if name == LAMB:
        settings["HEDDLE_LAMB_URL"] = f"http://127.0.0.1:{upstream}"
    if name in (METERED, OBSERVED):
        settings["HEDDLE_METRICS_LISTEN"] = f"127.0.0.1:{ports[-1]}"
        settings["HEDDLE_MIGRATION_LISTEN"] = "127.0.0.1:0"
    if name in _SAMPLES:
        settings["HEDDLE_TRACES_SAMPLE"] = _SAMPLES[name]
        settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{collector}"
    if name == CALLS:
        settings["HEDDLE_MULTIPLEXING"] = "0"
    return [Command(module, environment=settings) for module in modules]
