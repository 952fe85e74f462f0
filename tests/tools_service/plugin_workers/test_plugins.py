"""Tools of plugins, which run in processes of their own."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.workers import forking
from knowledge.kb_server import hit, kb_server
from runtime.examples import sampled
from runtime.ports import free_port
from structlog.testing import capture_logs
from tools_service.services import services
from tools_service.serving import Client, text_of
from tools_service.serving import said as conversation
from tools_service.test_app import serving, settings
from web_server import web_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLUGIN = '''
import asyncio, ctypes, os, threading, time
import httpx
from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.capabilities.rubrics import Rubrics
from heddle_tools_service.capabilities.workspace import Area, Edit, FileEdits, Workspace
from heddle_tools_service.sdk import (
    Source, ToolArguments, ToolCall, ToolConfig, ToolError, ToolResult, tool
)
from pydantic import field_validator

class Greeting(ToolConfig):
    word: str = "Hello"

    @field_validator("word")
    @classmethod
    def _check(cls, word: str) -> str:
        if word == "Bye":
            raise ValueError("must be a greeting")
        return word

class Name(ToolArguments):
    name: str

MODES = ("augment", "function", "agent")

@tool("greet", title="Greet", modes=MODES)
async def greet(call: ToolCall[Greeting, Name]):
    """Greets."""
    call.status(f"looking for {call.query}")
    name = call.arguments.name if call.called else call.caller.subject
    book = Source("A book", "https://x.example", score=0.5)
    return ToolResult(f"{call.config.word}, {name}!", [book])

@tool("counts", title="Counts")
def counts(call):
    """Counts words in a thread."""
    return ToolResult(str(len(call.query.split())))

@tool("fails", title="Fails")
async def fails(call):
    """Fails as it may."""
    raise ToolError("There is no such thing.", kind="missing", details={"suggestion": "Ask again."})

@tool("sleeps", title="Sleeps")
async def sleeps(call):
    """Blocks the process."""
    time.sleep(20)

@tool("sleeps_in_thread", title="Sleeps")
def sleeps_in_thread(call):
    """Blocks a thread."""
    time.sleep(20)

@tool("ends", title="Ends")
async def ends(call):
    """Ends its process."""
    os._exit(7)

@tool("crashes", title="Crashes")
async def crashes(call):
    """Writes where there is no memory."""
    ctypes.string_at(0)

@tool("eats", title="Eats")
async def eats(call):
    """Allocates four gigabytes."""
    return ToolResult(str(len(bytearray(4 << 30))))

@tool("process", title="Process")
async def process(call):
    """Names its process."""
    return ToolResult(str(os.getpid()))

@tool("threads", title="Threads")
def threads(call):
    """Starts threads with the smallest stacks."""
    threading.stack_size(32_768)
    enough = threading.Event()
    for _ in range(2_000):
        threading.Thread(target=enough.wait, daemon=True).start()
    time.sleep(20)

@tool("floods", title="Floods")
async def floods(call):
    """Prints much and reports much."""
    for number in range(20_000):
        print("flood", number)
        call.status(f"status {number}")
    return ToolResult("x" * 1_000_000)

@tool("writes_nonsense", title="Nonsense")
async def writes_nonsense(call):
    """Writes to the channel itself."""
    os.write(3, b"\\xff" * 1000)
    await asyncio.sleep(20)

@tool("fetches", title="Fetches")
async def fetches(call, http: httpx.AsyncClient):
    """Asks a server in three ways."""
    first = await http.get(call.query)
    async with httpx.AsyncClient() as own:
        mine = await own.get(call.query)
    in_thread = await asyncio.to_thread(httpx.get, call.query)
    return ToolResult(f"{first.text} {mine.text} {in_thread.text}")

@tool("asks_once", title="Asks once")
async def asks_once(call, http: httpx.AsyncClient):
    """Asks a server."""
    return ToolResult((await http.get(call.query)).text)

@tool("looks_up", title="Looks up")
async def looks_up(call, rubrics: Rubrics, passages: Passages):
    """Asks capabilities."""
    found = await passages.search(["1"], call.query, top_k=2)
    rubric = await rubrics.get("essay")
    return ToolResult(f"{found.passages[0].text} {rubric.title if rubric else 'no rubric'}")

@tool("edits", title="Edits")
async def edits(call, workspace: Workspace):
    """Changes a file."""
    notes = Area("notes")
    await workspace.patch(notes, [FileEdits("notes/a.txt", (Edit("one\\n", ""),), create=True)])
    page = await workspace.page(notes, "notes/a.txt")
    return ToolResult(page.lines[0])
'''


@asynccontextmanager
async def plugins(folder: Path, source: str = PLUGIN, **more: object) -> AsyncGenerator[Client]:
    """Serve the tools of one plugin file."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / "own.py").write_text(source)
    configured = settings(folder, plugins_dir=folder / "plugins", assistants_address="none", **more)
    async with serving(configured) as (client, _):
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """The tools of the plugin file, for tests that need no settings of their own."""
    async with plugins(tmp_path_factory.mktemp("shared")) as running:
        yield running


async def test_a_tool_answers_from_its_process_as_it_would_from_the_service(tmp_path: Path) -> None:
    answers = []
    for sandbox in ("auto", "off"):
        folder = tmp_path / sandbox
        folder.mkdir()
        async with plugins(folder, sandbox=sandbox) as client:
            outcomes = [
                await client.run("greet", {"word": "Moin"}, conversation("the harbour")),
                await client.run("counts", {}, conversation("one two three")),
            ]
            listed = await client.stub.ListFunctions(
                pb.ListFunctionsRequest(invocations=[pb.ToolInvocation(id="1", name="greet")]),
                **new_call_options(5),
            )
        for _, result in outcomes:
            result.ClearField("elapsed")
        answers.append((outcomes, listed))

    assert answers[0] == answers[1]
    [(statuses, result), (_, counted)], _ = answers[0]
    assert statuses == ["looking for the harbour"]
    assert text_of(result) == "Moin, developer!"
    assert result.sources[0].score == 0.5
    assert text_of(counted) == "3"


@pytest.mark.exhaustive
async def test_a_wrong_configuration_is_refused_with_the_same_violations(client: Client) -> None:
    for config, problem in (({"word": 3}, "type string"), ({"word": "Bye"}, "greeting")):
        with pytest.raises(InvalidRequestError, match=problem):
            await client.run("greet", config, conversation("?"))
        request = pb.ValidateToolConfigRequest(name="greet")
        request.config.update(config)
        response = await client.stub.ValidateToolConfig(request, **new_call_options(5))
        assert problem in response.violations[0].description


async def test_the_error_of_a_tool_reaches_the_caller(client: Client) -> None:
    with pytest.raises(HeddleError, match="There is no such thing") as failed:
        await client.run("fails", {}, conversation("?"))

    assert failed.value.metadata["kind"] == "missing"
    assert "Ask again" in failed.value.metadata["details_json"]


@pytest.mark.parametrize("name", sampled(["sleeps", "sleeps_in_thread"], 1))
async def test_a_tool_that_blocks_is_replaced_and_delays_no_other(
    tmp_path: Path, name: str
) -> None:
    async with plugins(tmp_path, threads_per_tool=1) as client:
        blocked = asyncio.create_task(client.run(name, {}, conversation("?"), seconds=2))
        await asyncio.sleep(0.2)
        delays = []
        for tool in ("word_count", "greet", "word_count", "greet"):
            started = time.perf_counter()
            await client.run(tool, {}, conversation("?"))
            delays.append(time.perf_counter() - started)
        with pytest.raises(HeddleError, match="did not finish"):
            await blocked
        for _ in range(3):  # more hang than there are threads
            with pytest.raises(HeddleError, match="did not finish"):
                await client.run(name, {}, conversation("?"), seconds=1)
        _, result = await client.run("greet", {}, conversation("?"))

    assert text_of(result).startswith("Hello")
    assert max(delays[0], delays[2]) < 1  # a process that hangs takes no time of the service


@pytest.mark.parametrize("name", ["ends", "crashes", "writes_nonsense"])
async def test_a_process_that_ends_fails_its_call_and_is_replaced(
    client: Client, name: str
) -> None:
    with pytest.raises(HeddleError, match="process of the tool has ended"):
        await client.run(name, {}, conversation("?"))
    _, result = await client.run("greet", {}, conversation("?"))

    assert text_of(result) == "Hello, developer!"


async def test_memory_and_output_are_limited(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with plugins(tmp_path) as client:
            _, before = await client.run("process", {}, conversation("?"))
            with pytest.raises(HeddleError, match="more memory than it may use"):
                await client.run("eats", {}, conversation("?"))
            _, after = await client.run("process", {}, conversation("?"))
            statuses, result = await client.run("floods", {}, conversation("?"), seconds=100)

    events = [each["event"] for each in logs]
    logged = events.count("plugin prints")
    dropped = sum(each.get("dropped_lines", 0) for each in logs)
    assert 0 < logged < 2_000
    assert logged + dropped > 5_000
    assert text_of(before) != text_of(after)
    assert len(statuses) == 200
    assert len(text_of(result)) == 400_000


@pytest.mark.exhaustive
async def test_a_process_with_too_many_threads_ends_where_there_are_no_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forking, "own_trees", list)
    async with plugins(tmp_path) as client:
        with pytest.raises(HeddleError, match="process of the tool has ended"):
            await client.run("threads", {}, conversation("?"))
        _, result = await client.run("greet", {}, conversation("?"))

    assert text_of(result) == "Hello, developer!"


async def test_requests_of_a_plugin_follow_the_egress_policy(tmp_path: Path) -> None:
    async with kb_server() as server:
        server.answers = {"1": {"results": []}}
        for networks in ([], ["127.0.0.0/8"]):
            folder = tmp_path / str(len(networks))
            folder.mkdir()
            async with plugins(folder, private_networks=networks) as client:
                question = conversation(f"{server.url}/collections/1")
                if not networks:
                    with pytest.raises(HeddleError, match="does not answer"):
                        await client.run("fetches", {}, question)
                else:
                    _, result = await client.run("fetches", {}, question)
                    assert text_of(result).count("results") == 3

    assert len(server.paths) == 3


async def test_a_plugin_gets_the_address_that_was_judged_when_a_name_changes_between_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name leads to a permitted server and to a forbidden one by turns, at the same port."""
    requested: list[str] = []

    def answering(name: str) -> web.Application:
        async def answer(_: web.Request) -> web.Response:
            requested.append(name)
            return web.Response(text=name, headers={"connection": "close"})

        application = web.Application()
        application.router.add_get("/", answer)
        return application

    port = free_port()
    turns = itertools.cycle(["127.0.0.2", "127.0.0.1"])
    resolve = asyncio.base_events.BaseEventLoop.getaddrinfo

    async def rebinding(loop: Any, host: str, port: int, **options: Any) -> Any:
        host = next(turns) if host == "rebinding.example" else host
        return await resolve(loop, host, port, **options)

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", rebinding)
    async with (
        web_server(answering("permitted"), "127.0.0.2", port),
        web_server(answering("forbidden"), "127.0.0.1", port),
        plugins(tmp_path, private_networks=["127.0.0.2/32"]) as client,
    ):
        question = conversation(f"http://rebinding.example:{port}/")
        for attempt in range(6):
            if attempt % 2:
                with pytest.raises(HeddleError, match="does not answer"):
                    await client.run("asks_once", {}, question)
            else:
                _, result = await client.run("asks_once", {}, question)
                assert text_of(result) == "permitted"

    assert requested == ["permitted"] * 3


async def test_capabilities_are_carried_out_by_the_service(tmp_path: Path) -> None:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "essay.yaml").write_text(
        "rubric_id: essay\ntitle: Essay\nis_public: true\nrubric_data: {}\n"
    )
    workspaces = tmp_path / "workspaces"
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "own.py").write_text(PLUGIN)
    async with kb_server() as server:
        server.answers = {"1": {"results": [hit("A passage")]}}
        own = {
            "plugins_dir": tmp_path / "plugins",
            "rubrics_dir": tmp_path / "rubrics",
            "workspace_dir": workspaces,
        }
        knowledge = {"kb_url": server.url, "search_timeout_seconds": 60}
        async with services(tmp_path, own, assistants_address="none", **knowledge) as both:
            _, edited = await both.client.run("edits", {}, conversation("?"))
            _, answer = await both.client.run("looks_up", {}, conversation("?"), seconds=100)

    assert text_of(answer) == "A passage Essay"
    assert text_of(edited) == "one"
    assert [each.read_text() for each in workspaces.rglob("a.txt")] == ["one\n"]
