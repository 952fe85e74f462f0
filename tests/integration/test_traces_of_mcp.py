"""Traces across the Model Context Protocol: to the servers of assistants, and from clients."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import heddle_knowledge.store  # noqa: F401 - takes seconds to load
import heddle_tools_service.providers.mcp.session  # noqa: F401 - as above
import pytest
from integration.functions.upstream import calls, says
from integration.test_mcp import environment, site, uni  # noqa: F401 - fixtures
from recorded_spans import Recorded, recorded
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
