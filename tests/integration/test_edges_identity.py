"""Identity: several keys without a secret, development mode, own pages, start-up errors."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio
from integration import commands
from integration.access.deployments import (
    COLLEAGUE,
    OPERATOR,
    OWNER,
    STRANGER,
    Deployment,
    deployed,
)
from integration.access.things import Things
from integration.processes import Processes, processes

QUESTION = [{"role": "user", "content": "A heddle?"}]
SHARED = {"HEDDLE_IDENTITY_SECRET": "", "HEDDLE_LOCAL_SECRET_FILE": "secret"}
STREAMED = pytest.mark.parametrize("stream", [False, True])
KEY = "lamb_a_key_of_32_characters_0123"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    """Separate services with several keys and without a secret."""
    folder = tmp_path_factory.mktemp("separate")
    async with deployed("separate without a secret", folder) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def laptop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Processes]:
    """Separate services in development mode, without keys."""
    folder = tmp_path_factory.mktemp("laptop")
    (folder / "assistants").mkdir()
    (folder / "assistants" / "1.yaml").write_text(
        "id: '1'\nname: show\nmodel: {connector: bypass, model: simple-bypass}\n"
        "system_prompt: Be brief.\nprompt_template: '{user_input}'\n"
    )
    async with processes(folder) as running:
        yield running


def test_a_key_reads_and_deletes_nothing_of_another(heddle: Deployment) -> None:
    things = Things(heddle, shared=False)
    path = f"/v1/vector_stores/{things.store}"
    for caller in (COLLEAGUE, STRANGER):
        client = heddle.rest(caller)
        assert client.get(path).status_code == 404
        assert client.delete(path).status_code == 404
        assert things.store not in client.get("/v1/vector_stores").text
    assert heddle.rest(OWNER).get(path).json()["name"] == things.content


@STREAMED
def test_a_member_may_ask_but_not_read_the_prompt(heddle: Deployment, *, stream: bool) -> None:
    things = Things(heddle, shared=True)
    body = {"messages": QUESTION, "stream": stream}
    ask, read = "/v1/chat/completions", f"/assistants/{things.assistant}"
    creator = f"/creator/assistant/{things.assistant}/chat/completions"
    client = heddle.rest(COLLEAGUE)
    response = client.post(ask, json=body | {"model": f"lamb_assistant.{things.assistant}"})
    assert response.status_code == 200
    assert "A heddle?" in response.text
    assert client.get(read).json()["description"] == things.content
    shown = [
        response,
        client.get(read),
        client.get(f"/creator/assistant/get_assistant/{things.assistant}"),
        client.post(creator, json=body | {"debug_bypass": True}),
    ]
    assert not [each for each in shown if things.prompt in each.text]
    assert heddle.rest(OWNER).get(read).json()["system_prompt"] == things.prompt


def test_services_with_keys_refuse_calls_without_a_token(heddle: Deployment) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        heddle.ask("Assistant.ListAssistants", None)
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert heddle.ask("Assistant.ListAssistants", OPERATOR)


def test_the_command_of_the_operator_reads_the_secret(heddle: Deployment) -> None:
    port = heddle.running.ports["heddle_assistants"]
    file = heddle.running.environment["HEDDLE_LOCAL_SECRET_FILE"]
    address = {"HEDDLE_ASSISTANTS_ADDRESS": f"127.0.0.1:{port}"}
    run = commands.heddle("assistants", "list", environment={**address, **SHARED, FILE: file})
    assert run.returncode == 0, run.stderr


def test_a_token_of_another_installation_is_refused(heddle: Deployment) -> None:
    other = Deployment(heddle.form, heddle.running, "another-secret-of-at-least-32-chars")
    with closing(other), pytest.raises(grpc.RpcError) as caught:
        other.ask("Assistant.ListAssistants", OPERATOR)
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert "HEDDLE_IDENTITY_SECRET" in heddle.running.log("heddle_assistants")


def chat(laptop: Processes, headers: dict[str, str], *, stream: bool) -> httpx.Response:
    """Ask the assistant of the laptop."""
    body = {"model": "lamb_assistant.1", "messages": QUESTION, "stream": stream}
    url = f"{laptop.url}/v1/chat/completions"
    return httpx.post(url, json=body, headers=headers, timeout=30, trust_env=False, verify=False)  # noqa: S501 - plain HTTP


@STREAMED
def test_in_development_an_unknown_key_is_refused(laptop: Processes, *, stream: bool) -> None:
    for headers in ({}, {"authorization": "Bearer development"}):
        assert chat(laptop, headers, stream=stream).status_code == 200
    for value in ("Bearer sk-unknown", "Bearer hk_unknown_key", f"Basic {KEY}", "Bearer x y"):
        refused = chat(laptop, {"authorization": value}, stream=stream)
        assert refused.status_code == 401
        assert "send no key or the key 'development'" in refused.json()["error"]["message"]
    lists = f"{laptop.url}/lamb/v1/completions/list"
    unknown = httpx.get(lists, headers={"authorization": "Bearer x"}, trust_env=False)
    assert unknown.status_code == 401


@STREAMED
def test_the_gateway_answers_its_own_pages_and_no_others(
    laptop: Processes, *, stream: bool
) -> None:
    port = laptop.url.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "[::1]"):
        own = {"origin": f"http://{host}:{port}"}
        assert chat(laptop, own, stream=stream).status_code == 200
        assert chat(laptop, own | {"host": f"{host}:{port}"}, stream=stream).status_code == 200
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1:{int(port) + 1}"},
        {"origin": "http://127.0.0.1"},
        {"origin": f"http://127.0.0.1.evil.example:{port}"},
        {"origin": f"http://evil.example@127.0.0.1:{port}"},
        {"origin": f"http://localhost:{port}", "host": f"rebound.example:{port}"},
        {"origin": f"http://rebound.example:{port}", "host": f"rebound.example:{port}"},
    ):
        assert chat(laptop, headers, stream=stream).status_code == 403, headers


def test_without_keys_a_call_needs_no_token(laptop: Processes) -> None:
    with closing(Deployment("separate without a secret", laptop, "")) as heddle:
        assert heddle.ask("Assistant.ListAssistants", None)


FILE = "HEDDLE_LOCAL_SECRET_FILE"
GATEWAY, CONNECTOR = "heddle_gateway", "heddle_connector"


@pytest.mark.parametrize(
    ("module", "environment", "message"),
    [
        (CONNECTOR, {FILE: "/dev/null/secret"}, "HEDDLE_IDENTITY_SECRET to the same 32 characters"),
        (CONNECTOR, {FILE: "{open}"}, "chmod 600"),
        (CONNECTOR, {FILE: "{empty}"}, "holds no secret"),
        (
            GATEWAY,
            {"HEDDLE_GATEWAY_API_KEY": KEY, "HEDDLE_KNOWLEDGE_ADDRESS": "10.0.0.7:9105"},
            "10.0.0.7:9105 is on another machine: set HEDDLE_IDENTITY_SECRET",
        ),
    ],
)
def test_a_secret_that_cannot_be_shared_ends_the_start(
    tmp_path: Path, module: str, environment: dict[str, str], message: str
) -> None:
    (tmp_path / "open").write_text("x" * 64)
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "empty").touch(0o600)
    places: dict[str, Any] = {"open": tmp_path / "open", "empty": tmp_path / "empty"}
    values = {name: value.format_map(places) for name, value in environment.items()}
    settings = {**SHARED, FILE: str(tmp_path / "secret"), **values}
    run = commands.run(module, environment=settings)
    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    "command", [["heddle_gateway", "--help"], ["heddle_cli", "keys", "create", "--help"]]
)
def test_the_help_says_how_long_a_key_is(command: list[str]) -> None:
    run = commands.run(*command, environment={"COLUMNS": "200"})
    assert "16 characters" in run.stdout
