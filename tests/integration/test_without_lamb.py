"""A gateway in whose environment the optional member with LAMB's interfaces is not installed."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import httpx
import pytest
from integration.processes import GATEWAY, Processes, processes
from integration.whole import write_assistant

ROUTES = ("/lamb", "/creator", "/collections", "/migration")
MEMBER = "heddle_migration_service"
OTHERS = ("heddle_connector", "heddle_assistants", "heddle_tools_service", "heddle_orchestrator")
ECHO = "name: echo\nmodel: {connector: bypass, model: simple-bypass}\n"
BODY = {"model": "lamb_assistant.echo", "messages": [{"role": "user", "content": "Hello?"}]}


def without_member(folder: Path, program: str) -> list[str]:
    """Return the command that runs a program with all that is installed here but the member."""
    installed = folder / "installed"
    installed.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(MEMBER):
            (installed / path.name).symlink_to(path)
    before = (
        f"import site; site.addsitedir({str(installed)!r})\n"
        f"import importlib.util; assert importlib.util.find_spec({MEMBER!r}) is None\n"
    )
    return [sys.executable, "-S", "-c", before + program]


def main_of(module: str) -> str:
    """Return the program that runs a module."""
    return f"import {module}.__main__ as program; program.main()"


def start_without_member(services: Processes) -> subprocess.Popen[bytes]:
    """Start the gateway without the member."""
    with (services.folder / f"{GATEWAY}.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own module
            without_member(services.folder, main_of(GATEWAY)),
            env=services.environment,
            stdout=log,
            stderr=log,
        )


async def test_a_gateway_without_the_member_of_lamb_answers_and_has_none_of_its_routes(
    tmp_path: Path,
) -> None:
    write_assistant(tmp_path, "echo", ECHO)
    async with processes(tmp_path, OTHERS) as services:
        services.running[GATEWAY] = start_without_member(services)
        services.wait_until_ready(GATEWAY)
        async with httpx.AsyncClient(base_url=services.url, timeout=60) as client:
            answer = await client.post("/v1/chat/completions", json=BODY)
            streamed = await client.post("/v1/chat/completions", json={**BODY, "stream": True})
            health = (await client.get("/health")).json()
            paths = (await client.get("/openapi.json")).json()["paths"]
            missing = await client.get("/collections")
            me = (await client.get("/v1/me")).json()
            tools = (await client.get("/tools")).json()["tools"]
            tool = (await client.get("/tools/word_count")).json()
            run = await client.post("/tools/word_count/run", json={"question": "One, two."})
            report = await client.post("/tools/rubric/validate", json={"rubric_id": {}})
            file = {"name": "copy", "model": {"connector": "bypass", "model": "simple-bypass"}}
            copy = await client.post("/assistants/import", json=file)
            other = await client.post("/assistants/import", json={"name": "x", "metadata": "{}"})

    assert "Hello?" in answer.json()["choices"][0]["message"]["content"]
    assert streamed.text.endswith("data: [DONE]\n\n")
    assert health["services"]["orchestrator"]
    assert not [path for path in paths if path.startswith(ROUTES)]
    assert (missing.status_code, "detail" in missing.json()) == (404, False)
    assert me["features"]["extensions"] == []
    assert tool in tools
    assert run.json()["text"]
    assert report.json()["violations"][0]["field"] == "config.rubric_id"
    assert (copy.status_code, copy.json()["name"]) == (201, "copy")
    assert (other.status_code, other.json()["error"]["param"]) == (400, "model")


def test_the_command_without_the_member_has_none_of_its_commands(tmp_path: Path) -> None:
    command = [*without_member(tmp_path, main_of("heddle_cli")), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours

    assert "ingest" in result.stdout
    assert "lamb" not in result.stdout
    assert "migrate" not in result.stdout


@pytest.mark.exhaustive
def test_the_demo_runs_without_the_member(tmp_path: Path) -> None:
    program = "import runpy; runpy.run_module('heddle_devstack.demo', run_name='__main__')"
    variables = {
        "HEDDLE_KNOWLEDGE_DATA_DIR": f"{tmp_path}/knowledge",
        "HEDDLE_ASSISTANTS_DATABASE": f"sqlite:///{tmp_path}/heddle.db",
        "HEDDLE_TOOLS_PLUGINS_DIR": "examples/plugins",
    }
    shown = run(without_member(tmp_path, program), **variables)

    assert "Public" in shown.partition("three phases of a changeset are")[2]


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_the_fast_tests_of_the_other_members_pass_without_the_member(tmp_path: Path) -> None:
    program = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    chosen = ["-m", "not alone and not exhaustive", "-k", "not postgresql", "@tests/quick.txt"]
    command = [*without_member(tmp_path, program), "-q", "-p", "no:cacheprovider", *chosen]
    shown = run(command)

    passed = re.search(r"(\d+) passed", shown)
    assert passed
    assert int(passed[1]) > 2_000


def run(command: list[str], **variables: str) -> str:
    """Run a command and return what it prints."""
    environment = {**os.environ, **variables}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 - ours
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
