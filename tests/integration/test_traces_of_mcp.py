"""Traces across the Model Context Protocol: to the servers of assistants, and from clients."""

import json
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import heddle_knowledge.store  # noqa: F401 - takes seconds to load
import heddle_tools_service.providers.mcp.session  # noqa: F401 - as above
import httpx
import pytest
from integration.functions.upstream import calls, says
from integration.test_mcp import environment, site, uni  # noqa: F401 - fixtures
from integration.whole import whole
from recorded_spans import DRAWN, PARENT, TRACE_ID, Recorded, recorded
from runtime.examples import sampled
from tools_service.mcp_sites import Library

ACCEPTED = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def spans() -> Iterator[Recorded]:
    with recorded() as received:
        yield received


def identifiers(span: Any) -> tuple[str, str]:
    """Return the ids of the trace and of the span."""
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


async def answered(folder: Path, server: Library, function: str, arguments: str) -> None:
    """Let a model call a function of the server, and answer."""
    script = [[calls(function, arguments)], [says("Done.")]]
    async with uni(folder, server, *script) as (university, _):
        pins = await university.pins({"url": server.url})
        await university.ask({"books": {"url": server.url, "tools": [function], "pins": pins}})


@pytest.mark.usefixtures("environment")
async def test_a_server_receives_the_context_of_the_span_of_its_tool(
    tmp_path: Path,
    site: Library,  # noqa: F811 - the fixture
    spans: Recorded,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDDLE_TRACES_SAMPLE", "1")
    await answered(tmp_path, site, "find", json.dumps({"title": "knots"}))

    tool = spans.of("execute_tool mcp")
    [call] = [each for each in site.messages if each.get("method") == "tools/call"]
    assert call["params"]["_meta"]["traceparent"] == "00-{}-{}-01".format(*identifiers(tool))
    known = spans.attributes("execute_tool mcp")
    assert known["mcp.method.name"] == "tools/call"
    assert known["mcp.protocol.version"] >= "2025"
    assert (known["gen_ai.tool.type"], known["heddle.tool.mode"]) == ("extension", "function")
    assert (known["server.address"], known["server.port"]) == (
        "127.0.0.1",
        int(site.url.split(":")[2].split("/")[0]),
    )
    exported = "".join(each.to_json() for each in spans.spans)
    assert "knots" not in exported
    assert site.url not in exported


@pytest.mark.usefixtures("environment")
async def test_a_failure_that_a_server_reports_is_that_of_the_span(
    tmp_path: Path,
    site: Library,  # noqa: F811 - the fixture
    spans: Recorded,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDDLE_TRACES_SAMPLE", "1")
    await answered(tmp_path, site, "fail", "{}")
    assert spans.attributes("execute_tool mcp")["error.type"] == "tool_error"
    assert "no such shelf" not in "".join(each.to_json() for each in spans.spans)


@pytest.mark.usefixtures("environment")
async def test_a_request_that_is_not_drawn_sends_no_context_to_servers(
    tmp_path: Path,
    site: Library,  # noqa: F811 - the fixture
    spans: Recorded,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDDLE_TRACES_SAMPLE", "0")
    await answered(tmp_path, site, "find", json.dumps({"title": "knots"}))
    assert spans.spans == []
    assert not [each for each in site.messages if "traceparent" in json.dumps(each)]


@asynccontextmanager
async def clients(folder: Path, share: float) -> Any:
    """Yield a client of a Heddle that draws a share of the requests."""
    async with (
        whole(folder, traces_sample=share) as heddle,
        httpx.AsyncClient(base_url=heddle.url, trust_env=False, timeout=60) as client,
    ):
        yield client


async def call_tool(client: httpx.AsyncClient, context: str, **headers: str) -> None:
    """Call a tool as a client that names the trace context in its message."""
    parameters = {
        "name": "list_files",
        "arguments": {},
        "_meta": {"traceparent": context},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    answer = await client.post("/mcp", json=message, headers={**ACCEPTED, **headers})
    assert answer.is_success, answer.text


@pytest.mark.parametrize("share", sampled([0.0, 1.0], 1), ids=["by the flag", "drawn"])
async def test_the_context_of_a_message_counts_before_the_header(
    tmp_path: Path, spans: Recorded, share: float
) -> None:
    header = f"00-{'1' * 32}-{'2' * 16}-00"
    async with clients(tmp_path, share) as client:
        await call_tool(client, DRAWN, traceparent=header)
    path = ["tools/call", "heddle.tool.v1.ToolService/ExecuteTool", "execute_tool list_files"]
    parent = PARENT
    for span in map(spans.of, path):
        assert span.parent is not None
        assert (identifiers(span)[0], f"{span.parent.span_id:016x}") == (TRACE_ID, parent)
        parent = identifiers(span)[1]
    roots = [each for each in spans.spans if each.name == "POST /mcp"]
    assert [identifiers(each)[0] for each in roots] == (["1" * 32] if share else [])


async def test_a_message_without_the_flag_is_not_traced(tmp_path: Path, spans: Recorded) -> None:
    async with clients(tmp_path, 0.0) as client:
        await call_tool(client, DRAWN[:-2] + "00")
        await call_tool(client, "not a context")
        await call_tool(client, DRAWN, **{"x-forwarded-for": "203.0.113.7"})
    assert spans.spans == []
