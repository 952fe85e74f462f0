"""A plugin that tries to get out of its process."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from heddle_tools_service.workers import forking
from heddle_tools_service.workers.confinement import missing
from runtime.examples import sampled
from tools_service.plugin_workers.escaping.escapes import ESCAPES
from tools_service.serving import said as conversation
from tools_service.serving import text_of
from tools_service.test_app import serving, settings

SOURCE = Path(__file__).parent / "escaping" / "escapes.py"
FOR_ALL = {"mounted", "memory", "shared_memory", "signal_to_all"}
"""Not tried without a sandbox: they would affect the machine that runs the tests."""
LEGACY = """
import json
from ._escapes import Target, attempt

def get_definition():
    return {
        "name": "escape", "display_name": "Escape", "description": "Tries to escape.",
        "placeholder": "escape", "config_schema": {"type": "object"},
    }

def tool_processor(request, assistant, tool_config):
    name, service, folder, port = json.loads(request["messages"][-1]["content"])
    return {"content": attempt(name, Target(service, folder, port)), "sources": []}
"""
PROGRAMS = {"other_program", "program_in_memory"}
"""They replace the process, which then prints nothing."""

pytestmark = pytest.mark.skipif(
    bool(missing()), reason=f"this kernel lacks {' and '.join(missing())}"
)


@pytest.fixture
def target(tmp_path: Path) -> Generator[tuple[Path, int]]:
    """Yield a folder with a database and a socket, and a port that accepts connections."""
    (tmp_path / "heddle.db").write_text("secret of the service")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abstract,
    ):
        local.bind(str(tmp_path / "service.sock"))
        local.listen()
        datagrams.bind(str(tmp_path / "datagrams.sock"))
        abstract.bind(f"\0heddle-{tmp_path}")
        yield tmp_path, server.getsockname()[1]


def mounted(folder: Path, file: str = "escapes.py") -> Path:
    """Put the tool into the folder of plugins, and return its file."""
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "link.txt").symlink_to(folder / "heddle.db")
    return Path(shutil.copy(SOURCE, plugins / file))


def legacy(folder: Path) -> Path:
    """Put the tool into the folder of plugins in an older form."""
    file = mounted(folder, "_escapes.py")
    file.with_name("legacy.py").write_text(LEGACY)
    return file


def packaged(folder: Path) -> Path:
    """Install the tool as a distribution, in a folder of its own."""
    site = folder / "site"
    metadata = site / "escaping-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: escaping\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[heddle.tools]\nescape = escaping_tool\n")
    (folder / "plugins").mkdir()
    (site / "link.txt").symlink_to(folder / "heddle.db")
    return Path(shutil.copy(SOURCE, site / "escaping_tool.py"))


@pytest.mark.parametrize("install", sampled([mounted, legacy, packaged], 1))
async def test_no_escape_of_a_plugin_gets_anything(
    install: Callable[[Path], Path], target: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forking, "subprocess", subprocess)  # as it is without tests
    folder, port = target
    file = install(folder)
    monkeypatch.syspath_prepend(str(folder / "site"))
    monkeypatch.setenv("HEDDLE_TOOLS_MOODLE_TOKEN", "secret-of-the-service-0123456789")
    configured = settings(
        folder,
        plugins_dir=folder / "plugins",
        sandbox="required",
        assistants_address="none",  # an organisation's settings would decide about changes
    )
    outcomes = {}
    async with serving(configured) as (client, _):
        for name in ESCAPES:
            request = json.dumps([name, os.getpid(), str(folder), port])
            _, result = await client.run("escape", {}, conversation(request))
            outcomes[name] = text_of(result) if result.parts else "nothing"

    assert len(outcomes) >= 50
    assert {name: text for name, text in outcomes.items() if not text.startswith("denied")} == {}
    assert (folder / "heddle.db").read_text() == "secret of the service"
    assert file.read_text() == SOURCE.read_text()


@pytest.mark.exhaustive
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can do most of it without a sandbox")
@pytest.mark.parametrize("name", sorted(ESCAPES.keys() - FOR_ALL))
def test_the_same_escape_gets_something_without_a_sandbox(
    name: str, target: tuple[Path, int]
) -> None:
    folder, port = target
    file = mounted(folder)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as service:
        request = json.dumps([name, service.pid, str(folder), port])
        ran = subprocess.run(  # noqa: S603 - a program of this test
            [sys.executable, str(file), request],
            env={**os.environ, "HEDDLE_TOOLS_MOODLE_TOKEN": "secret-of-the-service-0123456789"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        service.kill()

    if name in ("descriptors", "end_without_parent"):
        return  # what these would get lies in the service's own process
    assert ran.stdout.startswith("ESCAPED") or (name in PROGRAMS and not ran.stdout)
