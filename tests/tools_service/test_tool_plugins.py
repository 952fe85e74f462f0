"""Files with a `plugin`, as an older host of text models has them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_knowledge.collection.access import Owner
from heddle_knowledge.store import open_store
from heddle_migration_service.searches.client import KnowledgeServer
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    ToolFailedError,
    from_status,
)
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.adapters.tool_plugins import ToolContext, ToolEvent, ToolPlugin
from heddle_tools_service.sdk import OfferContext, ToolCall, ToolConfig, ToolResult, tool
from knowledge.kb_server import KnowledgeBaseServer, hit, kb_server
from knowledge.serving import knowledge_stub
from runtime.examples import sampled
from structlog.testing import capture_logs
from tools_service.serving import (
    discovered,
    discovering,
    invocation,
    outcome,
    serving,
    serving_tools,
    text_of,
)

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

PLUGIN = """
from __future__ import annotations
from app.tools._registry import ToolContext, ToolEvent, ToolPlugin

_DEFINITION = {{
    "type": "function",
    "function": {{
        "name": "{name}",
        "description": "Looks something up.",
        "parameters": {{
            "type": "object",
            "properties": {{"query": {{"type": "string", "description": "What."}}}},
            "required": ["query"],
        }},
    }},
}}

async def _handler(args: dict, ctx: ToolContext, on_status=None):
    await on_status("looking for " + args["query"])
    {body}

plugin = ToolPlugin(definition=_DEFINITION, handler=_handler{more})
"""
RETRIEVE = """chunks = await ctx.retrieve_fn(args["query"])
    return {"formatted_text": chunks[0]["content"], "citation_sources": [
        {"chunk_id": chunk["id"], "document_id": chunk["document_id"], "score": 0.0,
         "doc_title": chunk["doc_title"], "content_preview": chunk["content"]}
        for chunk in chunks]}"""


def write(folder: Path, body: str = 'return "found"', enabled: str = "") -> None:
    more = f", enabled={enabled}" if enabled else ""
    (folder / "look_up.py").write_text(PLUGIN.format(name="look_up", body=body, more=more))


def calling(arguments: dict[str, Any], config: dict[str, Any] | None = None) -> pb.ToolInvocation:
    made = invocation("1", "look_up", config)
    call = pb.FunctionCall(name="look_up", arguments_json=json.dumps(arguments))
    made.function_call.CopyFrom(call)
    return made


async def called(
    folder: Path, arguments: dict[str, Any], config: dict[str, Any] | None = None
) -> tuple[list[str], "pb.ToolResult | HeddleError"]:
    async with serving(discovering(folder)) as client:
        events = await client.run_all([calling(arguments, config)])
    told = [event.status.message for batch in events for event in batch if event.status.message]
    return told, outcome(events, "1")


async def offered(folder: Path, config: dict[str, Any] | None = None) -> pb.ToolFunctions:
    async with serving(discovering(folder)) as client:
        request = pb.ListFunctionsRequest(invocations=[invocation("1", "look_up", config)])
        [found] = (await client.stub.ListFunctions(request, **new_call_options(5))).functions
    return found


def test_what_a_handler_gets_and_what_is_always_offered_are_as_the_older_host_has_them() -> None:
    context = ToolContext()
    assert context.retrieve_fn is None
    assert (context.user_token, context.user_id, context.has_documents) == ("", "", False)

    event = ToolEvent(tool_name="web_search", data={"answer": "hello"})
    assert (event.tool_name, event.data) == ("web_search", {"answer": "hello"})

    async def handler(*_: object) -> str:
        return ""

    assert ToolPlugin(definition={}, handler=handler).enabled(context)


async def test_a_plugin_is_a_function_that_models_call(tmp_path: Path) -> None:
    write(tmp_path)

    told, result = await called(tmp_path, {"query": "sheds"})
    [declared] = (await offered(tmp_path)).functions

    assert isinstance(result, pb.ToolResult)
    assert text_of(result) == "found"
    assert told == ["looking for sheds"]
    assert (declared.name, declared.description) == ("look_up", "Looks something up.")
    assert json.loads(declared.parameters_schema_json)["required"] == ["query"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("return {'answer': 'größer'}", '{"answer": "größer"}'),
        ("return ToolEvent('x', {'answer': 1})", '{"answer": 1}'),
        ("return ToolEvent('x', 'words')", "words"),
        ("return [1, None]", "[1, null]"),
        ("return ctx.user_id + '|' + ctx.user_token", "developer|"),
    ],
)
async def test_what_a_handler_returns_is_what_the_model_reads(
    tmp_path: Path, body: str, text: str
) -> None:
    write(tmp_path, body=body)

    _, result = await called(tmp_path, {"query": "x"})

    assert isinstance(result, pb.ToolResult)
    assert text_of(result) == text


async def test_arguments_are_checked_before_the_handler_runs(tmp_path: Path) -> None:
    write(tmp_path, body="raise RuntimeError('it ran')")

    told, error = await called(tmp_path, {"question": 1})

    assert isinstance(error, InvalidRequestError)
    assert error.metadata["kind"] == "invalid_arguments"
    assert not told


async def test_a_switched_off_function_is_neither_offered_nor_run(tmp_path: Path) -> None:
    write(tmp_path, enabled="lambda ctx: ctx.has_documents and ctx.user_id == 'developer'")

    off = await offered(tmp_path)
    on = await offered(tmp_path, {"collections": ["notes"]})
    told, error = await called(tmp_path, {"query": "x"})
    _, result = await called(tmp_path, {"query": "x"}, {"collections": ["notes"]})

    assert not off.functions
    assert not off.HasField("error")
    assert [function.name for function in on.functions] == ["look_up"]
    assert isinstance(error, NotFoundError)
    assert error.message == "The function of the tool 'look_up' is switched off here."
    assert not told
    assert isinstance(result, pb.ToolResult)


async def test_a_switch_that_breaks_is_that_tools_failure(tmp_path: Path) -> None:
    write(tmp_path, enabled="lambda ctx: 1 / 0")

    found = await offered(tmp_path)
    _, error = await called(tmp_path, {"query": "x"})

    assert not found.functions
    assert "The tool 'look_up' failed" in from_status(found.error).message
    assert isinstance(error, HeddleError)
    assert "The tool 'look_up' failed" in error.message


async def test_our_own_tools_have_such_a_switch_too() -> None:
    class Doors(ToolConfig):
        """Which."""

        open: bool = False

    @tool("door", title="Door", modes=("function",), enabled=is_open)
    async def door(_: ToolCall[Doors]) -> ToolResult:
        """Goes through."""
        return ToolResult("through")

    invocations = [invocation("1", "door"), invocation("2", "door", {"open": True})]
    async with serving_tools(door) as client:
        request = pb.ListFunctionsRequest(invocations=invocations)
        shut, wide = (await client.stub.ListFunctions(request, **new_call_options(5))).functions

    assert [len(each.functions) for each in (shut, wide)] == [0, 1]


def is_open(occasion: OfferContext[Any]) -> bool:
    return bool(occasion.config.open)


async def retrieved(folder: Path, server: KnowledgeBaseServer) -> "pb.ToolResult | HeddleError":
    async def known(_: Owner) -> KnowledgeServer:
        return KnowledgeServer(server.url, "token")

    config = {"collections": ["1"], "top_k": 2}
    async with (
        open_store(folder / "store", HashingEmbedder()) as store,
        knowledge_stub(store, server_of=known) as knowledge,
        serving(discovering(folder), knowledge=knowledge) as client,
    ):
        return outcome(await client.run_all([calling({"query": "sheds"}, config)]), "1")


async def test_documents_can_be_retrieved_and_cited(tmp_path: Path) -> None:
    write(tmp_path, body=RETRIEVE)
    async with kb_server() as server:
        server.answers = {"1": {"results": [hit("A gap.", 0.9, filename="a.md"), hit("b", 0.1)]}}
        result = await retrieved(tmp_path, server)

    assert isinstance(result, pb.ToolResult)
    assert text_of(result) == "A gap."
    assert [(body["query_text"], body["top_k"]) for body in server.bodies] == [("sheds", 2)]
    assert [(each.title, each.excerpt) for each in result.sources] == [
        ("a.md", "A gap."),
        ("Unknown", "b"),
    ]
    assert result.sources[0].score == 0.0
    assert result.sources[0].HasField("score")  # 0.0 is a rank
    assert result.sources[0].attributes["document_id"] == "a.md"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('await ctx.retrieve_fn("x", depth=3)', "cannot be searched by this depth."),
        ('await ctx.retrieve_fn("x", date_from="once")', "cannot be searched by this date_from."),
        ('await ctx.retrieve_fn("x")', "knowledge-base server has no such collection"),
    ],
)
async def test_what_cannot_be_retrieved_is_told(tmp_path: Path, body: str, message: str) -> None:
    write(tmp_path, body=body)
    async with kb_server() as server:
        error = await retrieved(tmp_path, server)

    assert isinstance(error, ToolFailedError)
    assert message in error.message


async def test_a_wish_that_the_backend_does_not_heed_is_told(tmp_path: Path) -> None:
    write(tmp_path, body='await ctx.retrieve_fn("x", date_from="2024-01-01")')
    async with kb_server() as server:
        server.answers = {"1": {"results": [hit("A gap.")]}}
        error = await retrieved(tmp_path, server)

    assert isinstance(error, ToolFailedError)
    assert "does not heed time_from" in error.message


@pytest.mark.parametrize(
    ("body", "message", "event"),
    [
        (
            "plugin = object()",
            "Make it one: ToolPlugin(definition, handler, enabled).",
            "tools/before.py plugin is not a ToolPlugin — skipped",
        ),
        (
            "from app.tools._registry import ToolPlugin\nplugin = ToolPlugin({}, print)",
            "not async",
            "plugin skipped",
        ),
        (
            PLUGIN.format(name="x", body="pass", more="").replace('"name"', '"title"'),
            "The definition names no function",
            "plugin skipped",
        ),
        ("import nothing_of_the_kind", "No module named", "plugin skipped"),
        (
            "X = 1",
            "Define one, or begin the name of a file that is a helper with _.",
            "tools/before.py has no 'plugin' attribute — skipped",
        ),
    ],
)
def test_what_is_no_plugin_is_skipped_with_a_warning_and_the_rest_loads(
    tmp_path: Path, body: str, message: str, event: str
) -> None:
    (tmp_path / "before.py").write_text(body)
    write(tmp_path)

    with capture_logs() as logs:
        registry = discovered(tmp_path)

    [warning] = [line for line in logs if line["log_level"] == "warning"]
    assert warning["event"] == event
    assert warning["origin"] == "folder:before.py"
    assert message in warning["problem"]
    loaded = [line["event"] for line in logs if line["log_level"] == "info"]
    assert sorted(loaded) == [f"Loaded tool: {installed.name}" for installed in registry]
    assert "Loaded tool: look_up" in loaded


@pytest.mark.parametrize(
    ("first", "second"),
    sampled(
        [
            ("heddle_tools_service.tools.weather", "heddle_tools_service.installed.registry"),
            ("heddle_tools_service.installed.registry", "heddle_tools_service.tools.weather"),
            (
                "heddle_tools_service.adapters.tool_plugins",
                "heddle_tools_service.installed.registry",
            ),
        ],
        1,
    ),
)
def test_whatever_is_imported_first_all_tools_are_there(first: str, second: str) -> None:
    lines = [f"import {first}", f"import {second}"]
    lines += ["from heddle_tools_service.testing.running import requestable"]
    lines += ["from heddle_tools_service.installed.registry import Registry"]
    lines += ["print(*sorted(each.name for each in Registry.discover(None, requestable())))"]
    run = subprocess.run(  # noqa: S603 - our own lines
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )

    assert run.stdout.splitlines()[-1].split() == [each.name for each in discovered(None)]
