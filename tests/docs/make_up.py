"""`make up` as a reader of the README runs it, in a folder of its own and on free ports."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from heddle_devstack.examples import EXAMPLES_READY
from integration.processes import GATEWAY, MODULES, Processes
from runtime.ports import free_port

ROOT = Path(__file__).parents[2]
_OWN = {".heddle", "docs", "examples", ".git"}
"""What the folder does not share with the repository."""
_START_SECONDS = 240.0


@dataclass(frozen=True)
class MakeUp:
    """A running `make up`."""

    folder: Path
    processes: Processes

    @property
    def url(self) -> str:
        """The address of the gateway."""
        return self.processes.url

    def actual(self, text: str) -> str:
        """Return `text` with the addresses of what runs here."""
        ports = {"8080": GATEWAY, "9102": "heddle_tools_service"}
        for shown, module in ports.items():
            text = text.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{self.processes.ports[module]}")
        return text

    @property
    def addresses(self) -> dict[str, str]:
        """The settings by which the `heddle` command finds the services."""
        return addresses(self.processes.ports, "ADDRESS")


def addresses(ports: dict[str, int], ending: str) -> dict[str, str]:
    """Return the settings for the ports of all services."""
    return {f"HEDDLE_{name}_{ending}": f"127.0.0.1:{ports[each]}" for each, name in MODULES.items()}


def checkout(folder: Path) -> Path:
    """Fill a folder with what a checkout has. Data is stored in its own `.heddle`."""
    for entry in ROOT.iterdir():
        if entry.name not in _OWN:
            (folder / entry.name).symlink_to(entry)
    (folder / ".heddle").mkdir()
    for installed in ("uv", *(each.name for each in (ROOT / ".heddle").glob("node-*"))):
        (folder / ".heddle" / installed).symlink_to(ROOT / ".heddle" / installed)
    subprocess.run(["cp", "-r", ROOT / "examples", folder], check=True)  # noqa: S603, S607 - our own files
    return folder


@asynccontextmanager
async def make_up(folder: Path, **environment: str) -> AsyncGenerator[MakeUp]:
    """Run `make up` in `folder`.

    Args:
        folder: The result of `checkout`.
        environment: Further settings, for example of providers.
    """
    ports = {module: free_port() for module in MODULES}
    processes = Processes(folder, {}, ports)
    # The settings of the machine that runs the tests do not count.
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("HEDDLE_")}
    own = {"HEDDLE_GATEWAY_STUDIO": "false", **addresses(ports, "LISTEN")}  # no build with Node
    variables = {**inherited, **own, **environment}
    former = _own_log(folder).count(EXAMPLES_READY)
    with _running(folder, variables) as process:
        until = asyncio.get_running_loop().time() + _START_SECONDS
        while not _is_prepared(folder, former):
            late = asyncio.get_running_loop().time() > until
            if late or process.poll() is not None:
                raise AssertionError(f"make up does not start:\n{log(folder)[-3000:]}")
            await asyncio.sleep(0.1)
        yield MakeUp(folder, processes)


def log(folder: Path) -> str:
    """Return what `make up` printed, and its log."""
    return (folder / "up.log").read_text() + _own_log(folder)


def _is_prepared(folder: Path, former: int) -> bool:
    """Return whether all services run, and the documents of the examples are there."""
    printed = (folder / "up.log").read_text()
    if "being prepared" in printed:
        return _own_log(folder).count(EXAMPLES_READY) > former
    return "Heddle " in printed


def _own_log(folder: Path) -> str:
    file = folder / ".heddle/heddle.log"
    return file.read_text() if file.exists() else ""


@contextmanager
def _running(folder: Path, variables: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "up.log").open("wb") as output:
        process = subprocess.Popen(
            ["make", "up"],  # noqa: S607 - the reader's make
            cwd=folder,
            env=variables,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
