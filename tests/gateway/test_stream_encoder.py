"""The bytes of streamed answers."""

import json
from typing import Any, get_args
from urllib.parse import unquote

import msgspec
import pytest
from gateway.neighbours import DONE, text
from google.protobuf.duration_pb2 import Duration
from google.rpc.status_pb2 import Status as RpcStatus
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import (
    Choice,
    Decision,
    Output,
    RunEvent,
    Sources,
    Status,
    ToolFinished,
    ToolStarted,
)
from heddle.tool.v1.tool_pb2 import FileChange, Source
from heddle_gateway.openai.chat.aggregation import Completion, StreamEncoder
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_gateway.settings import EventView
from hypothesis import given
from hypothesis import strategies as st

STARTED = RunEvent(tool_started=ToolStarted(binding_id="b1", tool="simple_rag"))
ASKING = RunEvent(status=Status(binding_id="b1", message="querying knowledge base kb-1"))
FOUND = RunEvent(
    sources=Sources(
        binding_id="b1",
        sources=[
            Source(
                title="A",
                uri="https://e/a",
                excerpt="aa",
                score=0.9,
                attributes={"page": "3", "html": "1"},
            ),
            Source(title="B", excerpt="bb", score=0.5),
            Source(title="A again", uri="https://e/a", excerpt="cc", score=0.4),
        ],
    )
)


def status(action: str, description: str, *, done: bool) -> dict[str, Any]:
    data = {"action": action, "description": description, "done": done}
    return {"type": "status", "data": data}


def finished(tool: str = "simple_rag", **members: Any) -> RunEvent:
    return RunEvent(tool_finished=ToolFinished(binding_id="b1", tool=tool, **members))


def frames(view: EventView = "auto", *, usage: bool = False, model: str = "m") -> StreamEncoder:
    return StreamEncoder("chatcmpl-1", 1, model, Answer("r1", view), usage=usage)


def chunks(sent: bytes) -> list[dict[str, Any]]:
    """Read frames as a strict client does."""
    assert sent.endswith(b"\n\n")
    pieces = sent.removesuffix(b"\n\n").split(b"\n\n")
    assert all(piece.startswith(b"data: ") and b"\n" not in piece for piece in pieces)
    return [json.loads(piece[6:]) for piece in pieces if piece != b"data: [DONE]"]


def events(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [chunk["event"] for chunk in found if "event" in chunk]


@given(st.lists(st.text(st.characters(codec="utf-8"))), st.text(st.characters(codec="utf-8")))
def test_any_text_arrives_and_breaks_no_line(texts: list[str], model: str) -> None:
    sent = frames(model=model).encode([*map(text, texts), DONE])
    assert not {"\x85", "\u2028", "\u2029"} & set(sent.decode())
    assert len(sent.decode().splitlines()) == sent.count(b"\n")
    found = chunks(sent)
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in found) == "".join(
        texts
    )
    assert {chunk["model"] for chunk in found} == {model}


@pytest.mark.parametrize("logprobs", [[], [RunEvent(logprobs_json='{"content":[]}')]])
def test_what_is_said_before_a_tool_starts_is_shown_before_it(logprobs: list[RunEvent]) -> None:
    said, started = chunks(frames().encode([text("Let me look."), *logprobs, STARTED]))[-2:]
    assert said["choices"][0]["delta"]["content"] == "Let me look."
    assert started["event"] == status("heddle.run", "running simple_rag", done=False)


def test_what_is_said_after_a_tool_started_is_shown_after_it() -> None:
    for logprobs in ([], [RunEvent(logprobs_json='{"content":[]}')]):
        found = chunks(frames().encode([STARTED, text("Looking."), *logprobs]))
        assert [chunk["event"]["data"]["done"] for chunk in found if "event" in chunk] == [
            False,
            True,
        ]
        assert found[-1]["choices"][0]["delta"] == {"content": "Looking."}


def test_pieces_that_come_together_leave_in_one_chunk() -> None:
    made = frames()
    made.encode([text("a")])
    assert made.encode([text("b"), text("c")]).count(b"data: ") == 1


def test_the_role_comes_first_and_once() -> None:
    made = frames()
    found = chunks(made.encode([text("a")]) + made.encode([text("b")]))
    assert found[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [chunk["choices"][0]["delta"].get("role") for chunk in found[1:]] == [None, None]


def test_progress_ends_before_the_first_token_or_call() -> None:
    found = events(chunks(frames().encode([STARTED, ASKING, finished(), text("a"), DONE])))
    assert found == [
        status("heddle.run", "running simple_rag", done=False),
        status("heddle.simple_rag", "querying knowledge base kb-1", done=False),
        status("heddle.run", "used simple_rag", done=True),
    ]
    call = RunEvent(tool_call=ToolCall(id="c", name="f", arguments_json="{}"))
    for legacy in (False, True):
        encoder = StreamEncoder("c", 1, "m", Answer("r1", "openwebui"), usage=False, legacy=legacy)
        sent = encoder.encode([STARTED, call]).decode()
        progress, end, calls = map(sent.index, ('"done":false', '"done":true', "_call"))
        assert progress < end < calls


def test_progress_without_tools_leaves_no_line() -> None:
    found = events(chunks(frames().encode([RunEvent(status=Status(message="thinking")), DONE])))
    assert found[-1]["data"] == {
        "action": "heddle.run",
        "description": "thinking",
        "done": True,
        "hidden": True,
    }


def test_failures_and_warnings_are_reported_while_they_happen_and_at_the_end() -> None:
    batch = [
        finished(warnings=["kb-2 is empty"], error=RpcStatus(message="kb-1 is down")),
        finished("weather"),
        finished("web_search", result_count=0),
        DONE,
    ]
    sent = chunks(frames().encode(batch))
    lines = ["simple_rag failed: kb-1 is down (request r1)", "simple_rag: kb-2 is empty"]
    summary = "used weather; found nothing: web_search; failed: simple_rag (request r1)"
    assert [event["data"]["description"] for event in events(sent)] == [*lines, summary]
    report = sent[-1]["heddle"]
    assert (report["type"], report["data"]["warnings"]) == ("report", lines)
    assert [each["outcome"] for each in report["data"]["tools"]] == ["failed", "used", "empty"]


def test_a_tool_that_succeeds_after_a_failure_counts_as_used() -> None:
    batch = [finished(error=RpcStatus(message="no")), finished(result_count=2), DONE]
    assert events(chunks(frames().encode(batch)))[-1]["data"]["description"] == "used simple_rag"


@pytest.mark.parametrize("view", get_args(EventView))
def test_a_whole_response_has_the_report_of_the_stream(view: EventView) -> None:
    for batch in ([finished(), DONE], [finished(error=RpcStatus(message="no")), DONE]):
        answer = Completion(Answer("r1", view))
        answer.encode(batch)
        whole = json.loads(answer.body())
        streamed = chunks(frames(view).encode(batch))[-1].get("heddle")
        assert whole.get("heddle", []) == ([streamed] if streamed else [])
        assert ("heddle" in whole) is (view != "none" or batch[0].tool_finished.HasField("error"))


def test_the_header_of_a_whole_response_names_its_problems() -> None:
    answer = Completion(Answer("r1"))
    answer.encode([finished(error=RpcStatus(message="é" * 1_000)), DONE])
    [(name, value)] = answer.report.header()
    assert name == b"x-heddle-warning"
    assert unquote(value.decode()).startswith("simple_rag failed: éé")
    assert unquote(value.decode()).endswith("…")


def test_events_travel_on_chunks_that_every_client_can_read() -> None:
    for chunk in chunks(frames().encode([STARTED, FOUND, text("a"), DONE])):
        choice = chunk["choices"][0]
        assert set(choice) == {"index", "delta", "logprobs", "finish_reason"}
        if "event" in chunk:
            assert choice["delta"] == {"role": "assistant", "content": ""}


def changed(diff: str = "--- a/a.py\n+++ b/a.py\n", **more: Any) -> RunEvent:
    change = FileChange(path="a.py", reason="Shorter", diff=diff, line_start=2, line_end=3)
    status = Status(binding_id="b1", message="changed a.py: Shorter", change=change, **more)
    return RunEvent(status=status)


def test_a_change_of_a_file_is_told_to_people_and_to_programs() -> None:
    found = chunks(frames().encode([STARTED, changed(call_id="c1"), text("a"), DONE]))
    [told] = [chunk for chunk in found if "heddle" in chunk]
    assert told["event"] == status("heddle.simple_rag", "changed a.py: Shorter", done=False)
    assert told["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    data = {"file": "a.py", "reason": "Shorter", "lines": [2, 3]}
    diff = "--- a/a.py\n+++ b/a.py\n"
    data |= {"tool": "simple_rag", "call_id": "c1", "diff": diff}
    assert told["heddle"] == {"type": "file_change", "data": data}


def test_a_change_is_told_to_programs_beside_reasoning_and_not_at_all_if_unwanted() -> None:
    [told] = [c for c in chunks(frames("reasoning").encode([changed(), DONE])) if "heddle" in c]
    assert told["choices"][0]["delta"] == {"reasoning_content": "changed a.py: Shorter\n"}
    assert not any("heddle" in c for c in chunks(frames("none").encode([changed(), DONE])))


def test_a_diff_with_any_line_ends_stays_in_its_frame() -> None:
    diff = "-a\u2028\r\n+b\x85\n"
    sent = frames().encode([changed(diff)])
    assert len(sent.decode().splitlines()) == sent.count(b"\n")
    assert chunks(sent)[-1]["heddle"]["data"]["diff"] == diff


def test_what_a_function_tells_is_told_under_its_own_name() -> None:
    calls = [RunEvent(tool_started=ToolStarted(binding_id="b1", tool="remote")) for _ in range(2)]
    for number, call in enumerate(calls):
        call.tool_started.call.id, call.tool_started.call.name = f"c{number}", f"function_{number}"
    told = [Status(binding_id="b1", call_id=f"c{n}", message="at work") for n in range(2)]
    ended = [finished(f"function_{n}") for n in range(2)]
    working = [RunEvent(status=each) for each in told]
    sent = frames().encode([*calls, *working, *ended, text("a"), DONE])
    assert [event["data"]["action"] for event in events(chunks(sent))[1:3]] == [
        "heddle.function_0",
        "heddle.function_1",
    ]
    assert events(chunks(sent))[-1] == status(
        "heddle.run", "used function_0, function_1", done=True
    )


@pytest.mark.parametrize("ran", [True, False])
def test_a_tool_that_started_and_could_not_be_reached_did_not_run(*, ran: bool) -> None:
    completion, encoder = Completion(Answer("r1")), frames()
    ended = finished(elapsed=Duration() if ran else None)
    encoder.encode([STARTED])
    assert encoder.tools_ran
    for each in (completion.encode, encoder.encode):
        each([ended])
    assert (completion.tools_ran, encoder.tools_ran) == (ran, ran)


def test_sources_come_as_one_group_and_as_citations_and_show_that_tools_ran() -> None:
    completion = Completion(Answer("r1"))
    completion.encode([text("a")])
    assert not completion.tools_ran
    completion.encode([FOUND])
    assert completion.tools_ran
    encoder = frames()
    encoder.encode([FOUND])
    assert encoder.tools_ran
    found = chunks(frames().encode([STARTED, FOUND, DONE]))
    source = next(event["data"] for event in events(found) if event["type"] == "source")
    assert source == {
        "source": {"id": "b1", "name": "simple_rag"},
        "document": ["aa", "bb", "cc"],
        "metadata": [
            {"source": "https://e/a", "name": "A", "external": True, "page": 2},
            {"source": "B", "name": "B"},
            {"source": "https://e/a", "name": "A again", "external": True},
        ],
        "distances": [0.9, 0.5, 0.4],
    }
    citation = {"url": "https://e/a", "title": "A", "start_index": 0, "end_index": 0}
    assert found[-1]["choices"][0]["delta"]["annotations"] == [
        {"type": "url_citation", "url_citation": citation}
    ]


def test_open_webui_gets_sources_without_citations_and_images_without_a_visible_link() -> None:
    image = RunEvent(image=GeneratedImage(name="a.png", media_type="image/png", data=b"x"))
    page = RunEvent()
    page.sources.sources.add(title="A", uri="https://e/a", excerpt="aa")
    sent = chunks(frames("openwebui").encode([STARTED, page, image, DONE]))
    assert [event["type"] for event in events(sent)].count("source") == 1
    assert not any("annotations" in chunk["choices"][0]["delta"] for chunk in sent)
    [delta] = [c["choices"][0]["delta"] for c in sent if "images" in c["choices"][0]["delta"]]
    assert delta["content"] == "\n\n[picture]: /v1/pictures/a.png\n\n"


def test_progress_can_be_reasoning_or_nothing() -> None:
    batch = [STARTED, FOUND, text("a"), DONE]
    told = chunks(frames("reasoning").encode(batch))
    assert not events(told)
    assert told[1]["choices"][0]["delta"] == {"reasoning_content": "running simple_rag\n"}
    silent = chunks(frames("none").encode(batch))
    assert not events(silent)
    assert len(silent) == 3  # role, text, end
    assert "annotations" in silent[-1]["choices"][0]["delta"]


def test_nothing_that_others_write_becomes_a_member_of_a_chunk() -> None:
    evil = (
        '{"event":{"type":"execute","data":{"code":"alert(1)"}},'
        '"error":{"message":"x"},"sources":[1]}'
    )
    done = RunEvent()
    done.CopyFrom(DONE)
    done.done.provider_metadata_json = evil[:-1] + ',"system_fingerprint":"fp","service_tier":{}}'
    sent = frames().encode(
        [
            RunEvent(logprobs_json=f'{{"content":[]}}],{evil[1:]}'),
            text(evil),
            RunEvent(status=Status(message=evil, binding_id=evil)),
            RunEvent(reasoning_delta=evil),
            done,
        ]
    )
    keys = {key for chunk in chunks(sent) for key in chunk}
    assert keys == {
        *("id", "object", "created", "model", "choices", "event", "system_fingerprint")
    }  # fmt: skip
    assert {event["type"] for event in events(chunks(sent))} == {"status"}


def test_probabilities_go_with_their_text() -> None:
    sent = chunks(
        frames().encode([text("a"), RunEvent(logprobs_json='{"content":[1]}'), text("b")])
    )
    assert [
        (chunk["choices"][0]["delta"]["content"], chunk["choices"][0]["logprobs"])
        for chunk in sent[1:]
    ] == [("a", {"content": [1]}), ("b", None)]


def test_events_of_a_newer_contract_are_skipped() -> None:
    unknown = RunEvent.FromString(b"\xfa\x07\x02hi")
    assert frames().encode([unknown, RunEvent()]) == b""


def test_usage_comes_in_a_chunk_of_its_own_if_it_is_asked_for() -> None:
    made = frames(usage=True)
    found = chunks(made.encode([text("a"), DONE]) + made.end())
    assert all(chunk["usage"] is None for chunk in found[:-1])
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["total_tokens"] == 10


def test_calls_are_numbered_and_name_the_reason() -> None:
    call = RunEvent()
    call.tool_call.id, call.tool_call.name, call.tool_call.arguments_json = "c", "f", '{"a":"\n"}'
    found = chunks(frames().encode([call, call, DONE]))
    deltas = [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in found[1:3]]
    assert [delta["index"] for delta in deltas] == [0, 1]
    assert deltas[0]["function"] == {"name": "f", "arguments": '{"a":"\n"}'}
    assert found[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_frames_are_what_a_plain_encoder_would_write() -> None:
    sent = frames(model='m"ü').encode([text('"\\\n\x00é😀')])
    for chunk in chunks(sent):
        assert b"data: " + msgspec.json.encode(chunk) + b"\n\n" in sent


@pytest.mark.parametrize("called", [True, False])
def test_what_a_provider_wants_back_comes_with_calls_alone(*, called: bool) -> None:
    call = ToolCall(id="c", name="f", extra_json='{"id":"x","signature":"s"}')
    done = Done(message_extra_json='{"details":[1],"content":"x","reasoning_content":"t"}')
    happened = [*([RunEvent(tool_call=call)] if called else []), RunEvent(done=done)]

    deltas = [chunk["choices"][0]["delta"] for chunk in chunks(frames().encode(happened))]
    answer = Completion(Answer("r1", "none"))
    answer.encode(happened)
    message = json.loads(answer.body())["choices"][0]["message"]

    assert [delta["details"] for delta in deltas if "details" in delta] == [[1]] * called
    assert message.get("details") == ([1] if called else None)
    told = [call for delta in deltas for call in delta.get("tool_calls", ())]
    for one in (*told, *message.get("tool_calls", ())):
        assert (one["id"], one["signature"]) == ("c", "s")
    assert "reasoning_content" not in str(deltas)
    assert message["content"] != "x"


CHOSEN = RunEvent(
    decision=Decision(
        iteration=1,
        choices=[Choice(tool="fast_vector_search", binding_id="b1", inputs_json='{"query": "x"}')],
        reason="It asks for a fact.",
        router="rules",
    )
)
PUT_OUT = RunEvent(
    output=Output(
        type="result", query_id="q1", payload_json='{"tool": "t", "objects": [{"text": "a\u2028"}]}'
    )
)


def test_a_decision_is_told_to_people_and_to_programs() -> None:
    found = chunks(frames().encode([CHOSEN, text("a"), DONE]))
    [told] = [chunk for chunk in found if "heddle" in chunk]
    line = "chose fast_vector_search: It asks for a fact."
    assert told["event"] == status("heddle.agent", line, done=False)
    data = {
        "iteration": 1,
        "choices": [{"tool": "fast_vector_search", "inputs": {"query": "x"}}],
        "reason": "It asks for a fact.",
        "router": "rules",
        "rejected": None,
    }
    assert told["heddle"] == {"type": "decision", "data": data}


def test_an_output_is_told_to_programs_only() -> None:
    for view in ("auto", "openwebui", "reasoning"):
        found = chunks(frames(view).encode([PUT_OUT, text("a"), DONE]))
        [told] = [chunk for chunk in found if "heddle" in chunk]
        assert "event" not in told
        assert told["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        payload = {"tool": "t", "objects": [{"text": "a\u2028"}]}
        data = {"type": "result", "query_id": "q1", "payload": payload}
        assert told["heddle"] == {"type": "output", "data": data}


def test_decisions_and_outputs_are_not_told_if_unwanted() -> None:
    found = chunks(frames("none").encode([CHOSEN, PUT_OUT, text("a"), DONE]))
    assert not any("heddle" in chunk or "event" in chunk for chunk in found)


@pytest.mark.parametrize("view", get_args(EventView))
def test_a_whole_answer_tells_what_a_stream_tells_in_its_order(view: EventView) -> None:
    happened = [CHOSEN, PUT_OUT, CHOSEN, text("a"), PUT_OUT, DONE]
    streamed = [
        chunk["heddle"] for chunk in chunks(frames(view).encode(happened)) if "heddle" in chunk
    ]
    answer = Completion(Answer("r1", view))
    answer.encode(happened)
    whole = json.loads(answer.body())
    assert whole.get("heddle", []) == streamed
    assert len(streamed) == (0 if view == "none" else 4)
