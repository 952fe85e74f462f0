"""Log lines of processes: one for each request or call, and why a process cannot start."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from integration import commands
from integration.browser import browser
from integration.processes import GATEWAY, MODULES, ONE_PROCESS, Processes, processes
from integration.provider import providing
from integration.whole import write_assistant
from patience import until
from runtime.ports import free_port

ASSISTANT = """model: {connector: openai, model: MODEL}
tools: [{type: word_count}]
prompt_template: '{word_count}{user_input}'
"""


def lines(heddle: Processes, module: str, event: str, request_id: str) -> list[dict[str, Any]]:
    """Return the lines of one request in the log of a process."""
    written = [json.loads(line) for line in heddle.log(module).splitlines()]
    return [
        line for line in written if line["event"] == event and line.get("request_id") == request_id
    ]


@pytest.mark.parametrize(
    "modules",
    [
        pytest.param(ONE_PROCESS, id="one"),
        pytest.param((*MODULES,), id="many", marks=pytest.mark.exhaustive),
    ],
)
async def test_the_line_of_a_request_names_what_took_part(
    tmp_path: Path, modules: Sequence[str]
) -> None:
    async with providing() as provider:
        provider.missing = ("gone",)
        write_assistant(tmp_path, "1", ASSISTANT.replace("MODEL", "m"))
        write_assistant(tmp_path, "2", ASSISTANT.replace("MODEL", "gone"))
        async with (
            processes(
                tmp_path,
                modules,
                HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
                HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
            ) as heddle,
            browser(heddle.url) as client,
        ):
            first = modules[0] if modules == ONE_PROCESS else GATEWAY
            good = await ask(client, "1", stream=True)
            bad = await ask(client, "2", stream=False)
            await until(lambda: bool(lines(heddle, first, "request", bad)))
            [answered] = lines(heddle, first, "request", good)
            [refused] = lines(heddle, first, "request", bad)
            assert (answered["actor"], answered["organization"]) == ("developer", "default")
            assert answered["tools"] == ["word_count"]
            assert answered["level"] == "info"
            assert answered["model"].endswith("m")
            assert (refused["level"], refused["error"]) == ("warning", "PROVIDER_REFUSED")
            assert (refused["code"], refused["provider_status"]) == (404, 404)
            if modules == ONE_PROCESS:
                assert answered["model"] == "openai/m"
                assert answered["provider_status"] == 200
                assert answered["assistant"] == "file-1"
            else:
                [call] = lines(heddle, "heddle_connector", "call", good)
                assert (call["model"], call["provider_status"]) == ("openai/m", 200)
                assert call["actor"] == "developer"
                [run] = lines(heddle, "heddle_orchestrator", "call", good)
                assert (run["assistant"], run["tools"]) == ("file-1", ["word_count"])
                [failed] = lines(heddle, "heddle_connector", "call", bad)
                assert (failed["level"], failed["provider_status"]) == ("warning", 404)


async def ask(client: Any, assistant: str, *, stream: bool) -> str:
    """Send a chat completion and return its request id."""
    messages = [{"role": "user", "content": "hi"}]
    body = {"model": f"lamb_assistant.{assistant}", "messages": messages, "stream": stream}
    response = await client.post("/v1/chat/completions", json=body)
    return str(response.headers["x-request-id"])


def start(module: str, folder: Path, **environment: str) -> list[dict[str, Any]]:
    """Start a service that cannot start, and return the lines that it writes."""
    settings = {
        "HEDDLE_GATEWAY_DEVELOPMENT": "1",
        "HEDDLE_LOCAL_SECRET_FILE": str(folder / "secret"),
        "HEDDLE_ASSISTANTS_DATABASE": f"sqlite:///{folder}/heddle.db",
        **environment,
    }
    done = commands.run(module, environment=settings)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    return [json.loads(line) for line in done.stderr.splitlines()]


@pytest.mark.parametrize(
    ("module", "setting"),
    [(GATEWAY, "HEDDLE_GATEWAY_LISTEN"), ("heddle_connector", "HEDDLE_CONNECTOR_LISTEN")],
)
def test_a_port_in_use_is_a_line(tmp_path: Path, module: str, setting: str) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        port = taken.getsockname()[1]
        *_, last = start(module, tmp_path, **{setting: f"127.0.0.1:{port}"})
    assert (last["event"], last["level"]) == ("cannot start", "critical")
    assert last["service"] == module.removeprefix("heddle_")
    assert str(port) in last["problem"]


def test_each_invalid_setting_is_a_line(tmp_path: Path) -> None:
    wrong = {"HEDDLE_GATEWAY_DRAIN_WAIT": "soon", "HEDDLE_GATEWAY_LOG_LEVEL": "loud"}
    written = start(GATEWAY, tmp_path, **wrong)
    assert {line["setting"] for line in written} == set(wrong)
    assert {(line["event"], line["service"]) for line in written} == {("cannot start", "gateway")}


def test_a_database_that_is_away_is_a_line_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://heddle:magpie-river-99@127.0.0.1:{free_port()}/heddle"
    *_, last = start("heddle_assistants", tmp_path, HEDDLE_ASSISTANTS_DATABASE=url)
    assert last["event"] == "cannot start"
    assert "Cannot use the database" in last["problem"]
    assert "magpie-river-99" not in json.dumps(last)
