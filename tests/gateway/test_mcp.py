"""`/mcp`, arguments_sent by the official client of the Model Context Protocol."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from gateway.conftest import KEY, Bench, Start
from gateway.library import Library
from gateway.neighbours import DONE as NEIGHBOURS_DONE
from gateway.neighbours import text
from gateway.test_stream_encoder import FOUND, STARTED, finished
from heddle.chat.v1.chat_pb2 import ContentPart, ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import InvalidRequestError, UnavailableError, Violation
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent
from patience import until

ACCEPT = {"accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def done(*texts: str, warnings: tuple[str, ...] = ()) -> tool_pb2.ExecuteToolResponse:
    parts = [ContentPart(text=text) for text in texts]
    return tool_pb2.ExecuteToolResponse(result=tool_pb2.ToolResult(parts=parts, warnings=warnings))


def progress(text: str) -> tool_pb2.ExecuteToolResponse:
    return tool_pb2.ExecuteToolResponse(status=tool_pb2.ToolStatus(message=text))


@asynccontextmanager
async def client(bench: Bench, key: str = KEY, mode: str = "auto") -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {key}"}
    sending: dict[str, Any] = {"transport": bench.transport, "trust_env": False, "timeout": 20}
    async with (
        httpx2.AsyncClient(headers=headers, **sending) as http,
        Client(
            streamable_http_client(f"{bench.url}/mcp", http_client=http), mode=mode
        ) as connected,
    ):
        yield connected


def texts(result: Any) -> list[str]:
    return [part.text for part in result.content if isinstance(part, TextContent)]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_lists_and_calls_tools(bench: Bench, mode: str) -> None:
    bench.neighbours.tools.script = [progress("looking"), done("A shed ", "is a gap.")]
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total) == (1, None)
        told.append(message)

    async with client(bench, mode=mode) as connected:
        listed = (await connected.list_tools()).tools
        result = await connected.call_tool(
            "use_simple_rag", {"query": "shed"}, progress_callback=on_progress
        )

    assert [tool.name for tool in listed[:2]] == ["use_simple_rag", "use_single_file"]
    assert (listed[0].description, listed[0].input_schema) == ("Looks up.", {"type": "object"})
    assert (texts(result), result.is_error) == (["A shed is a gap."], False)
    assert told == ["looking"]
    [request] = bench.neighbours.tools.requests
    call = request.invocation.function_call
    assert (request.invocation.name, call.name) == ("simple_rag", "use_simple_rag")
    assert call.arguments_json == '{"query": "shed"}'


async def test_assistants_are_tools(bench: Bench) -> None:
    bench.orchestrator.script = [[STARTED, finished(), FOUND, text("Threads."), NEIGHBOURS_DONE]]
    async with client(bench) as connected:
        listed = (await connected.list_tools()).tools[2:]
        result = await connected.call_tool("ask_tutor_1", {"question": "What is a shed?"})
    assert [tool.name for tool in listed] == ["ask_tutor_1", "ask_tutor_2"]
    assert listed[0].description == "Ask the assistant Biology tutor. Helps."
    assert listed[0].input_schema["required"] == ["question"]
    assert (texts(result), result.is_error) == (["Threads."], False)
    assert result.structured_content is not None
    source, *_ = result.structured_content["sources"]
    assert source["url"] == "https://e/a"
    (run,) = bench.orchestrator.requests
    assert run.assistant_reference == "lamb_assistant.1"
    assert run.messages[0].parts[0].text == "What is a shed?"


async def test_what_an_assistant_cannot_answer_is_an_error(bench: Bench) -> None:
    call = RunEvent(tool_call=ToolCall(id="c", name="heddle_confirm", arguments_json="{}"))
    arguments_sent = {"question": "Delete it."}
    async with client(bench) as connected:
        for script, name, arguments, words in (
            ([[call, NEIGHBOURS_DONE]], "ask_tutor_1", arguments_sent, "Ask it in a chat"),
            (
                [UnavailableError("The model sleeps.")],
                "ask_tutor_1",
                arguments_sent,
                "The model sleeps.",
            ),
            ([], "ask_tutor_1", {}, "must be a text"),
            ([], "ask_tutor_1", {"question": 1}, "must be a text"),
            ([], "ask_tutor_9", arguments_sent, "'ask_tutor_9'"),
        ):
            bench.orchestrator.script = script
            result = await connected.call_tool(name, arguments)
            assert result.is_error, name
            assert words in texts(result)[0]


async def test_the_same_tools_are_operations_of_an_openapi_document(bench: Bench) -> None:
    document = (await bench.client.get("/tools/openapi.json")).json()
    assert document["servers"] == [{"url": f"{bench.url}/tools"}]
    operations = {path: it["post"] for path, it in document["paths"].items()}
    assert [it["operationId"] for it in operations.values()] == [
        *("use_simple_rag", "use_single_file", "ask_tutor_1", "ask_tutor_2")
    ]
    body = operations["/functions/ask_tutor_1"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["required"] == ["question"]

    bench.orchestrator.script = [[STARTED, finished(), FOUND, text("Threads."), NEIGHBOURS_DONE]]
    arguments_sent = {"question": "What is a shed?"}
    answer = (await bench.client.post("/tools/functions/ask_tutor_1", json=arguments_sent)).json()
    assert (answer["text"], answer["sources"][0]["url"]) == ("Threads.", "https://e/a")
    bench.neighbours.tools.script = [progress("looking"), done("A shed.", warnings=("Slow.",))]
    path = "/tools/functions/use_simple_rag"
    answer = (await bench.client.post(path, json={"query": "shed"})).json()
    assert answer == {"text": "A shed.", "sources": [], "warnings": ["Slow."]}
    (called,) = bench.neighbours.tools.requests
    assert called.invocation.function_call.arguments_json == '{"query":"shed"}'


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("nonsense", {}, 404),
        ("ask_tutor_9", {"question": "Why?"}, 404),
        ("ask_tutor_1", {}, 400),
        ("ask_tutor_1", [], 400),
    ],
)
async def test_a_wrong_call_of_an_operation_is_refused(
    bench: Bench, name: str, body: Any, status: int
) -> None:
    response = await bench.client.post(f"/tools/functions/{name}", json=body)
    assert response.status_code == status


PROMPTS = [
    ("", "", "Be brief."),
    ("", "Why?", "Be brief.\n\nWhy?"),
    ("{context}: {user_input}", "Why?", "Be brief.\n\n{context}: Why?"),
]


async def test_stored_prompts_are_prompts(shelf: Library) -> None:
    async def send(person: str, method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": f"prompts/{method}", "params": params}
        response = await shelf[person].post("/mcp", json=body, headers=ACCEPT)
        return json.loads(response.text[response.text.index("{") :])  # also of an event

    for template, question, whole in PROMPTS:
        prompt = {"title": "Tutor", "system_prompt": "Be brief.", "prompt_template": template}
        name = (await shelf["ana"].post("/prompts", json=prompt)).json()["id"]
        assert name in [it["name"] for it in (await send("ana", "list"))["result"]["prompts"]]
        arguments = {"question": question} if question else {}
        shown = await send("ana", "get", name=name, arguments=arguments)
        (message,) = shown["result"]["messages"]
        assert message == {"role": "user", "content": {"type": "text", "text": whole}}
        for person in ("ben", "eve"):
            assert (await send(person, "list"))["result"]["prompts"] == []
            assert "error" in await send(person, "get", name=name)


async def test_who_has_no_key_learns_how_to_get_in(start: Start) -> None:
    path = "/.well-known/oauth-protected-resource"
    for url in ("", "https://heddle.example/"):
        async with start(public_url=url) as bench:
            base = url.rstrip("/") or bench.url
            refused = await bench.client.post(
                "/mcp", json=LIST, headers={**ACCEPT, "authorization": ""}
            )
            challenge = f'Bearer resource_metadata="{base}{path}"'
            assert refused.headers["www-authenticate"] == challenge
            for each in (path, f"{path}/mcp"):
                shown = await bench.client.get(each, headers={"authorization": ""})
                assert shown.json()["resource"] == f"{base}/mcp"
            other = await bench.client.get("/v1/models", headers={"authorization": ""})
            assert (other.status_code, "www-authenticate" in other.headers) == (401, False)


async def test_tools_work_in_the_name_of_the_keys_owner(start: Start, tmp_path: Any) -> None:
    keys = tmp_path / "keys.yaml"
    keys.write_text(
        "a-key-of-anns-12345: {subject: ann@uni.example, organization: uni, scopes: [creator]}\n"
    )
    async with start("rpc", secret="s" * 32, api_keys=keys) as bench:
        tools = bench.neighbours.tools
        tools.script = [done("yes")]
        async with client(bench, "a-key-of-anns-12345") as connected:
            await connected.call_tool("use_simple_rag", {})
        identity = tools.callers[0].identity
        assert (identity.subject, identity.organization) == ("ann@uni.example", "uni")
        for assistant in (tools.requests[0].context.assistant, *tools.assistants):
            assert (assistant.owner, assistant.organization) == ("ann@uni.example", "uni")


async def test_a_learner_gets_assistants_alone(start: Start, tmp_path: Any) -> None:
    keys = tmp_path / "keys.yaml"
    keys.write_text("a-key-of-a-learner: {subject: ben@uni.example, organization: uni, scopes: []}")
    async with start("rpc", secret="s" * 32, api_keys=keys) as bench:
        async with client(bench, "a-key-of-a-learner") as connected:
            listed = (await connected.list_tools()).tools
        assert [tool.name for tool in listed] == ["ask_tutor_1", "ask_tutor_2"]


@pytest.mark.parametrize("authorization", ["", "Bearer wrong", f"Basic {KEY}"])
async def test_nobody_gets_in_without_a_key(bench: Bench, authorization: str) -> None:
    headers = {**ACCEPT, "authorization": authorization}
    response = await bench.client.post("/mcp", json=LIST, headers=headers)
    assert response.status_code == 401
    assert not bench.neighbours.tools.assistants


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_are_no_sessions(bench: Bench, method: str) -> None:
    response = await bench.client.request(method, "/mcp", headers=ACCEPT)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_a_web_page_that_nobody_listed_gets_nothing(start: Start) -> None:
    async with start(cors_origins=("https://good.example",)) as bench:
        for origin, status in (
            ("https://good.example", 200),
            ("https://evil.example", 403),
            ("null", 403),
            (bench.url, 200),
            (bench.url.replace("127.0.0.1", "localhost"), 200),
            (f"{bench.url}0", 403),
        ):
            headers = {**ACCEPT, "origin": origin}
            response = await bench.client.post("/mcp", json=LIST, headers=headers)
            assert response.status_code == status, origin


@pytest.mark.parametrize("name", ["use_rubric", "nonsense", "simple_rag"])
async def test_a_function_that_is_not_offered_is_an_error_that_names_it(
    bench: Bench, name: str
) -> None:
    async with client(bench) as connected:
        result = await connected.call_tool(name, {})
    assert result.is_error
    assert repr(name) in texts(result)[0]
    assert not bench.neighbours.tools.requests


async def test_a_failing_tool_is_an_error_that_says_why(bench: Bench) -> None:
    wrong = [Violation("arguments.query", "is required")]
    async with client(bench) as connected:
        for failure, words in (
            (InvalidRequestError("Wrong.", wrong), "Wrong. arguments.query: is required"),
            (UnavailableError("Moodle does not answer."), "Moodle does not answer."),
        ):
            bench.neighbours.tools.script = [failure]
            result = await connected.call_tool("use_simple_rag", {})
            assert (result.is_error, texts(result)) == (True, [words])


async def test_what_failed_in_part_is_told_beside_the_result(bench: Bench) -> None:
    bench.neighbours.tools.script = [done("found", warnings=("One shelf is closed.",))]
    async with client(bench) as connected:
        result = await connected.call_tool("use_simple_rag", {})
    assert texts(result) == ["found", "[One shelf is closed.]"]


async def test_tools_that_cannot_be_listed_are_a_failure_without_inner_words(bench: Bench) -> None:
    bench.neighbours.tools.failure = UnavailableError("The tools are away.")
    async with client(bench) as connected:
        with pytest.raises(MCPError, match="The tools are away"):
            await connected.list_tools()


async def test_a_client_that_goes_away_takes_its_call_with_it(bench: Bench) -> None:
    tools = bench.neighbours.tools
    tools.script = [progress("looking"), 60.0, done("late")]
    async with client(bench) as connected:
        calling = asyncio.create_task(connected.call_tool("use_simple_rag", {}))
        await until(lambda: tools.requests)
        assert not tools.cancelled.is_set()
        calling.cancel()
    await until(tools.cancelled.is_set)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"5", b'{"jsonrpc": "1.0"}', b"[" * 100_000, b"\xff"]
)
async def test_what_is_no_message_is_refused(bench: Bench, body: bytes) -> None:
    headers = {**ACCEPT, "content-type": "application/json"}
    response = await bench.client.post("/mcp", content=body, headers=headers)
    assert response.status_code == 400
    assert "error" in response.json()


async def test_what_is_not_called_json_is_refused(bench: Bench) -> None:
    response = await bench.client.post("/mcp", content=b"{}", headers=ACCEPT)
    assert (response.status_code, response.json()["error"]["code"]) == (
        415,
        "unsupported_media_type",
    )


async def test_a_body_that_is_too_large_is_refused(start: Start) -> None:
    async with start(max_body_bytes=1_000) as bench:
        body = {**LIST, "params": {"cursor": "x" * 2_000}}
        response = await bench.client.post("/mcp", json=body, headers=ACCEPT)
        assert response.status_code == 413


def test_who_never_asks_for_it_never_pays_for_the_sdk() -> None:
    script = (
        "import sys, heddle_gateway.__main__, heddle_tools_service.__main__; "
        "raise SystemExit(any(name.partition('.')[0] == 'mcp' for name in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", script], check=False, timeout=100)  # noqa: S603 - our own
    assert run.returncode == 0
