"""The log line of a request says who sent it, what answered it, and how it failed."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gateway.conftest import Bench
from gateway.neighbours import DONE, text
from google.rpc.status_pb2 import Status
from heddle.chat.v1.chat_pb2 import ModelReplaced
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent, ToolFinished
from heddle_runtime.errors import ProviderRefusedError
from patience import until
from structlog.testing import capture_logs
from structlog.typing import EventDict

TRACE = "0af7651916cd43dd8448eb211c80319c"


Lines = Callable[[], Sequence[EventDict]]
CHAT = ("request", "POST /v1/chat/completions")


@contextmanager
def logging_of(bench: Bench) -> Iterator[Lines]:
    """Yield what returns the lines of chat completions, oldest first."""
    with capture_logs() as captured:

        def lines() -> Sequence[EventDict]:
            logged = [json.loads(line) for line in bench.log.splitlines()] or captured
            chats = [line for line in logged if (line["event"], line.get("method")) == CHAT]
            return sorted(chats, key=lambda line: str(line.get("timestamp", "")))

        yield lines


async def line_of(bench: Bench, lines: Lines, **request: Any) -> EventDict:
    """Send a chat completion and return its line."""
    before = len(lines())
    await bench.chat(**request)
    await until(lambda: len(lines()) > before)
    [line] = lines()[before:]
    return {"log_level": line.get("level"), **line}


async def test_a_line_names_the_actor_the_assistant_the_model_and_the_tools(bench: Bench) -> None:
    tool = RunEvent(tool_finished=ToolFinished(binding_id="b", tool="rubric"))
    bench.orchestrator.script = [[tool], [text("Hello"), DONE]]
    with logging_of(bench) as lines:
        for stream in (False, True):
            line = await line_of(bench, lines, stream=stream)
            assert line["log_level"] == "info"
            assert line["code"] == 200
            assert (line["organization"], line["actor"]) == ("default", "operator")
            assert line["key_id"] == "settings"
            assert (line["assistant"], line["model"]) == ("lamb_assistant.1", "fake-1")
            assert line["tools"] == ["rubric"]
            assert "error" not in line


async def test_a_stream_that_fails_after_its_head_has_the_status_of_its_failure(
    bench: Bench,
) -> None:
    refusal = ProviderRefusedError("No.", http_status="402", provider="p")
    bench.orchestrator.script = [[text("Hel")], refusal]
    with logging_of(bench) as lines:
        line = await line_of(bench, lines, stream=True)
    assert line["code"] == 402
    assert line["log_level"] == "warning"
    assert (line["error"], line["provider_status"]) == ("PROVIDER_REFUSED", 402)


async def test_a_stream_that_breaks_is_an_internal_failure_and_not_a_success(bench: Bench) -> None:
    bench.orchestrator.script = [[text("Hel")], KeyError("a bug")]
    with logging_of(bench) as lines:
        line = await line_of(bench, lines, stream=True)
    assert (line["code"], line["error"], line["log_level"]) == (500, "INTERNAL", "warning")


async def test_an_answer_without_a_tool_or_from_another_model_is_a_warning(bench: Bench) -> None:
    failed = ToolFinished(binding_id="b", tool="rubric", error=Status(code=14, message="Away."))
    replaced = ModelReplaced(requested="a/x", replacement="b/y", reason="UPSTREAM_UNAVAILABLE")
    with logging_of(bench) as lines:
        for stream in (False, True):
            bench.orchestrator.script = [
                [RunEvent(tool_finished=failed)],
                [text("Hello"), DONE],
            ]
            line = await line_of(bench, lines, stream=stream)
            assert (line["code"], line["log_level"], line["degraded"]) == (200, "warning", "tool")
            bench.orchestrator.script = [[RunEvent(model_replaced=replaced)], [text("Hi"), DONE]]
            line = await line_of(bench, lines, stream=stream)
            assert (line["model"], line["degraded"]) == ("b/y", "model")
            assert line["log_level"] == "warning"


async def test_a_request_that_the_client_can_correct_is_no_warning(bench: Bench) -> None:
    with logging_of(bench) as lines:
        line = await line_of(bench, lines, messages="none")
    assert (line["code"], line["log_level"]) == (400, "info")
    assert line["error"] == "INVALID_REQUEST"


async def test_a_line_has_a_trace_id_if_the_client_sent_a_context_or_an_id(bench: Bench) -> None:
    context = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    with logging_of(bench) as lines:
        assert (await line_of(bench, lines, headers=context))["trace_id"] == TRACE
        first = await line_of(bench, lines, headers={"x-request-id": "same"})
        second = await line_of(bench, lines, headers={"x-request-id": "same"})
        assert "trace_id" not in await line_of(bench, lines)
    assert len(first["trace_id"]) == 32
    assert first["trace_id"] != second["trace_id"]
    assert bench.orchestrator.callers[1].traceparent[3:35] == first["trace_id"]
    assert bench.orchestrator.callers[1].traceparent.endswith("-00")


async def test_no_line_has_an_address_or_a_secret_that_a_client_sent_as_a_model(
    bench: Bench,
) -> None:
    with logging_of(bench) as lines:
        for name in ("ann@example.org", "sk-abcdefghijklmnop0123456789"):
            line = await line_of(bench, lines, model=name)
            assert name not in str(line)
