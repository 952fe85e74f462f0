"""A gateway in whose environment the optional member with LAMB's interfaces is not installed."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import httpx
from integration.processes import GATEWAY, Processes, processes
from integration.whole import write_assistant

ROUTES = ("/lamb", "/creator", "/collections", "/migration")
MEMBER = "heddle_migration_service"
OTHERS = ("heddle_connector", "heddle_assistants", "heddle_tools_service", "heddle_orchestrator")
ECHO = "name: echo\nmodel: {connector: bypass, model: simple-bypass}\n"
BODY = {"model": "lamb_assistant.echo", "messages": [{"role": "user", "content": "Hello?"}]}


def without_member(folder: Path, module: str) -> list[str]:
    """Return the command that runs a module with all that is installed here but the member."""
    installed = folder / "installed"
    installed.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(MEMBER):
            (installed / path.name).symlink_to(path)
    program = (
        f"import site; site.addsitedir({str(installed)!r})\n"
        f"import importlib.util; assert importlib.util.find_spec({MEMBER!r}) is None\n"
        f"import {module}.__main__ as program; program.main()"
    )
    return [sys.executable, "-S", "-c", program]


def start_without_member(services: Processes) -> subprocess.Popen[bytes]:
    """Start the gateway without the member."""
    with (services.folder / f"{GATEWAY}.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own module
            without_member(services.folder, GATEWAY),
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
    command = [*without_member(tmp_path, "heddle_cli"), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours

    assert "ingest" in result.stdout
    assert "lamb" not in result.stdout
    assert "migrate" not in result.stdout
