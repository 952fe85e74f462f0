"""What the operator learns about plugins when they are loaded, and what plugins can read."""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.app import ToolsSettings
from heddle_tools_service.workers.confinement import missing
from pydantic import ValidationError
from runtime.examples import sampled
from runtime.ports import free_port
from tools_service.plugin_workers.test_plugin_files import loaded
from tools_service.plugin_workers.test_plugins import plugins
from tools_service.serving import said as conversation
from tools_service.serving import text_of
from tools_service.test_adapters import CLASS

NEVER = """
from app.tools._registry import ToolPlugin

async def handler(args, ctx, on_status=None):
    return "never"

plugin = ToolPlugin(
    {"type": "function", "function": {"name": "never", "description": "Never."}},
    handler,
    lambda ctx: bool(ctx.user_token),
)
"""
READING = '''
import os
from pathlib import Path
from heddle_tools_service.sdk import ToolResult, tool

@tool("variables", title="Variables")
async def variables(call):
    """Lists what it sees."""
    names = sorted(name for name in os.environ if "CITY" in name or "HEDDLE" in name)
    return ToolResult(",".join(names))

@tool("reads", title="Reads", modes=("augment", "function"))
async def reads(call):
    """Reads a file."""
    return ToolResult(Path(call.query).read_text())
'''
CALLS = {"Landlock": 444, "seccomp": 277 if platform.machine() == "aarch64" else 317}
"""What confines plugins, and the system calls without which the kernel lacks it."""
EITHER = pytest.mark.parametrize("absent", sampled(CALLS, 1))
WITHOUT_CALL = """
import ctypes, os, runpy, struct, sys
LIBC = ctypes.CDLL(None)
program = b"".join(
    struct.pack("=HBBI", *each)
    for each in (
        (0x20, 0, 0, 0),  # the number of the call
        (0x15, 0, 1, int(sys.argv[1])),
        (0x06, 0, 0, 0x00050000 | 38),  # ENOSYS
        (0x06, 0, 0, 0x7FFF0000),
    )
)
code = ctypes.create_string_buffer(program, len(program))
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))
loaded = Program(4, ctypes.addressof(code))
assert LIBC.prctl(38, 1, 0, 0, 0) == 0
assert LIBC.prctl(22, 2, ctypes.byref(loaded), 0, 0) == 0
sys.argv = ["heddle_tools_service"]
runpy.run_module("heddle_tools_service", run_name="__main__")
"""


FINDINGS = {
    "plugin = object()\n": "0.py plugin is not a ToolPlugin. Make it one",
    "TERM = 1\n": "1.py has no 'plugin' attribute. Define one",
    "import no_such_module\n": "ModuleNotFoundError: No module named 'no_such_module'",
    "open('/etc/passwd')\n": "Use a capability, and httpx for requests.",
    "import os; os._exit(3)\n": "A plugin must not end the process",
    NEVER: "Name the environment variables that it reads in HEDDLE_TOOLS_PLUGIN_ENVIRONMENT",
}


async def test_the_operator_learns_the_finding_and_the_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    for number, source in enumerate(FINDINGS):
        (folder / f"{number}.py").write_text(source)
    _, problems = await loaded(tmp_path)

    assert sorted(problems) == [f"folder:{number}.py" for number in range(len(FINDINGS))]
    for (_, message), finding in zip(sorted(problems.items()), FINDINGS.values(), strict=True):
        assert finding in message


async def test_plugins_see_the_variables_that_the_operator_names_for_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITY_KEY", "key")
    monkeypatch.setenv("CITY_SECRET", "secret")
    environment = {"own.py": ["CITY_KEY", "CITY_MISSING"], "other.py": ["CITY_SECRET"]}
    async with plugins(tmp_path, READING, plugin_environment=environment) as client:
        _, result = await client.run("variables", {}, conversation("?"))

    assert text_of(result) == "CITY_KEY"


@pytest.mark.exhaustive
async def test_plugins_of_hosts_that_are_not_installed_load_in_their_processes(
    tmp_path: Path,
) -> None:
    async with plugins(tmp_path, CLASS) as client:
        _, result = await client.run("glossary", {}, conversation("What is a shed?"))

    assert text_of(result).startswith("What is a shed?|")


def test_plugins_cannot_get_settings_of_heddle() -> None:
    with pytest.raises(ValidationError, match="HEDDLE_IDENTITY_SECRET is a setting of Heddle"):
        ToolsSettings(plugin_environment={"own.py": ["HEDDLE_IDENTITY_SECRET"]})


@pytest.mark.skipif(bool(missing()), reason="the kernel lacks what confines plugins")
async def test_plugins_cannot_read_the_folder_in_which_the_service_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / ".heddle" / "identity-secret"
    secret.parent.mkdir()
    secret.write_text("secret of the service")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # as `python -m` does
    async with plugins(tmp_path, READING) as client:
        with pytest.raises(HeddleError, match="failed"):
            await client.run("reads", {}, conversation(str(secret)))


@pytest.mark.exhaustive
async def test_a_relative_folder_is_one_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with plugins(Path(), READING) as client:
        _, result = await client.run("variables", {}, conversation("?"))

    assert text_of(result) == ""


async def test_a_plugin_that_is_switched_off_is_not_offered_and_not_run(tmp_path: Path) -> None:
    async with plugins(tmp_path, READING, disabled={"reads"}) as client:
        invocation = pb.ToolInvocation(id="1", name="reads")
        offered = await client.stub.ListFunctions(
            pb.ListFunctionsRequest(invocations=[invocation]), **new_call_options(5)
        )
        with pytest.raises(HeddleError, match="switched off"):
            await client.run("reads", {}, conversation("/etc/passwd"))

    assert not offered.functions[0].functions
    assert not offered.functions[0].HasField("error")


def run_without(absent: str, folder: Path, sandbox: str) -> str:
    """Return what the service prints on a kernel that lacks something, until it serves or ends."""
    environment = {
        "HEDDLE_TOOLS_LISTEN": f"127.0.0.1:{free_port()}",
        "HEDDLE_TOOLS_PLUGINS_DIR": str(folder / "plugins"),
        "HEDDLE_TOOLS_SANDBOX": sandbox,
    }
    log = folder / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - our own service
            [sys.executable, "-c", WITHOUT_CALL, str(CALLS[absent])],
            env={**os.environ, **environment},
            cwd=folder,
            stdout=output,
            stderr=output,
        ) as process,
    ):
        while process.poll() is None and "serving" not in log.read_text():
            time.sleep(0.05)
        process.kill()
    return log.read_text()


@pytest.mark.skipif(bool(missing()), reason="the kernel lacks what confines plugins")
@EITHER
def test_a_required_sandbox_refuses_to_start_on_a_kernel_without_it(
    absent: str, tmp_path: Path
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "own.py").write_text(READING)

    printed = run_without(absent, tmp_path, "required")

    assert f"HEDDLE_TOOLS_SANDBOX is 'required', and the kernel lacks {absent}" in printed
    assert "serving" not in printed


@pytest.mark.skipif(bool(missing()), reason="the kernel lacks what confines plugins")
@EITHER
def test_a_service_that_cannot_confine_plugins_says_what_is_missing(
    absent: str, tmp_path: Path
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "own.py").write_text(READING)

    printed = run_without(absent, tmp_path, "auto")

    assert f"The kernel lacks {absent}" in printed
    assert "serving" in printed


@pytest.mark.exhaustive
async def test_many_configurations_are_validated_in_one_call(tmp_path: Path) -> None:
    async with plugins(tmp_path) as client:
        names = ["greet", "word_count", "none", "greet"] * 300
        requests = [pb.ValidateToolConfigRequest(name=name) for name in names]
        requests[3].config.update({"word": "Bye"})
        response = await client.stub.BatchValidateToolConfigs(
            pb.BatchValidateToolConfigsRequest(requests=requests), **new_call_options(20)
        )

    assert len(response.responses) == len(names)
    wrong = [index for index, each in enumerate(response.responses) if each.violations]
    assert wrong == [index for index, name in enumerate(names) if name == "none" or index == 3]
    assert not any(each.HasField("effective_config") for each in response.responses)
