"""`heddle chat`: the answer on one stream, the account of it on the other."""

import os
import signal
import subprocess
import time

import pytest
from cli.conftest import Run
from cli.interruptible import COMMAND
from cli.serving import Services
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import UnavailableError, to_status

DONE = RunEvent(done=chat_pb2.Done(finish_reason=chat_pb2.FINISH_REASON_STOP))


def event(**fields: object) -> RunEvent:
    return RunEvent(**fields)  # type: ignore[arg-type] # the tests write nested messages as dicts


def test_the_answer_comes_out_and_everything_else_beside_it(
    services: Services, heddle: Run
) -> None:
    source = {"title": "Guide", "uri": "https://example.org/guide"}
    services.orchestrator.script = [
        event(tool_started={"binding_id": "rag", "tool": "simple_rag"}),
        event(status={"message": "querying knowledge base kb"}),
        event(tool_finished={"binding_id": "rag", "elapsed": {"nanos": 20_000_000}}),
        event(sources={"sources": [source, source, {"title": "Notes"}]}),
        event(text_delta="Thr"),
        event(text_delta="ead.\x1b[2J"),
        DONE,
    ]

    code, out, notes = heddle("chat", "bio", "Why?")

    assert code == 0
    assert out == "Thread.[2J\n\nSources\n1. Guide <https://example.org/guide>\n2. Notes\n"
    assert notes == "rag: started\nquerying knowledge base kb\nrag: done in 0.02 s\n"
    (request,) = services.orchestrator.seen
    assert request.messages[0].parts[0].text == "Why?"
    assert not request.include_trace


def test_sources_show_their_pages_one_on_a_line(services: Services, heddle: Run) -> None:
    places = [("3", "a"), ("12", "b"), ("3", "c")]
    sources = [
        {
            "title": "Loom\nmanual",
            "uri": "https://example.org/loom",
            "excerpt": excerpt,
            "attributes": {"document": "loom.pdf", "page": page, "collection": "kb"},
        }
        for page, excerpt in places
    ]
    services.orchestrator.script = [event(sources={"sources": sources}), DONE]

    _, out, _ = heddle("chat", "bio", "Why?")

    assert out.splitlines()[2:] == [
        "1. Loom manual (loom.pdf), page 3 <https://example.org/loom>",
        "2. Loom manual (loom.pdf), page 12 <https://example.org/loom>",
    ]


def test_a_decision_of_an_agent_is_told_beside_the_answer(services: Services, heddle: Run) -> None:
    decision = {"choices": [{"tool": "guide"}, {"tool": "web"}], "reason": "It asks for both."}
    services.orchestrator.script = [event(decision=decision), event(text_delta="So."), DONE]

    code, out, notes = heddle("chat", "bio", "Why?")

    assert (code, out) == (0, "So.\n")
    assert notes == "chose guide, web: It asks for both.\n"


def test_a_picture_is_told_beside_the_answer(services: Services, heddle: Run) -> None:
    picture = {"name": f"{'0a' * 16}.png", "media_type": "image/png", "data": b"1234"}
    services.orchestrator.script = [event(text_delta="Here:"), event(image=picture), DONE]

    code, out, notes = heddle("chat", "bio", "Draw.")

    assert (code, out) == (0, "Here:\n")
    assert notes == f"picture {'0a' * 16}.png: 4 bytes of image/png\n"


def test_a_tool_that_failed_is_told_and_the_answer_still_comes(
    services: Services, heddle: Run
) -> None:
    error = to_status(UnavailableError("The server is down."))
    services.orchestrator.script = [
        event(tool_finished={"binding_id": "rag", "error": error, "warnings": ["kb-2 is missing"]}),
        event(text_delta="Still."),
        DONE,
    ]

    code, out, notes = heddle("chat", "bio", "Why?")

    assert (code, out) == (0, "Still.\n")
    assert notes == "rag: kb-2 is missing\nrag: The server is down.\n"


def test_a_change_of_a_file_is_shown_with_its_diff(services: Services, heddle: Run) -> None:
    change = {"path": "a.py", "reason": "Shorter", "diff": "@@ -1 +1 @@\n-a = 12\n+a = 1\n"}
    services.orchestrator.script = [
        event(status={"message": "changed a.py: Shorter", "change": change}),
        event(text_delta="Done."),
        DONE,
    ]

    code, out, notes = heddle("chat", "bio", "Shorten it.")

    assert (code, out) == (0, "Done.\n")
    assert notes == "changed a.py: Shorter\n@@ -1 +1 @@\n-a = 12\n+a = 1\n"


def test_a_trace_shows_the_steps_and_the_prompt(services: Services, heddle: Run) -> None:
    message = orchestrator_pb2.Trace.Message(role=chat_pb2.ROLE_USER, parts=["Why?", "How?"])
    step = orchestrator_pb2.Trace.Step(name="rag", output_chars=12)
    trace = orchestrator_pb2.Trace(prompt=[message], steps=[step])
    services.orchestrator.script = [event(trace=trace), DONE]

    code, _, notes = heddle("chat", "bio", "Why?", "--trace")

    assert code == 0
    assert services.orchestrator.seen[0].include_trace
    assert notes == "\nTrace\nrag: 0.00 s, 12 characters\n\n[user]\nWhy?\nHow?\n"


def test_the_trace_of_an_agent_shows_what_was_found(services: Services, heddle: Run) -> None:
    found = tool_pb2.Finding(tool="search", name="Manual", objects_json=["{}", "{}"])
    tree = tool_pb2.TreeData(environment=tool_pb2.Environment(findings=[found]))
    services.orchestrator.script = [event(trace=orchestrator_pb2.Trace(tree=tree)), DONE]

    _, _, notes = heddle("chat", "bio", "Why?", "--trace")

    assert notes == "\nTrace\nsearch found 2 in Manual\n"


def test_a_stream_that_ends_without_its_end_is_a_failure(services: Services, heddle: Run) -> None:
    services.orchestrator.script = [event(text_delta="Thr")]

    assert heddle("chat", "bio", "Why?") == (1, "Thr\n", "heddle: The answer was cut off.\n")


def test_an_answer_at_the_limit_of_tokens_says_so(services: Services, heddle: Run) -> None:
    services.orchestrator.script = [
        event(text_delta="Thr"),
        event(done={"finish_reason": chat_pb2.FINISH_REASON_LENGTH}),
    ]

    assert heddle("chat", "bio", "Why?") == (
        0,
        "Thr\n",
        "The answer ends at the model's limit of tokens.\n",
    )


def test_a_call_that_takes_too_long_is_told(services: Services, heddle: Run) -> None:
    services.orchestrator.waits = True

    code, _, notes = heddle("chat", "bio", "Why?", "--timeout", "1")

    assert code == 1
    assert notes == "heddle: The deadline of the call has passed.\n"


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_an_interrupt_ends_the_run_at_the_service_too(services: Services) -> None:
    services.orchestrator.script = [event(text_delta="Thr")]
    services.orchestrator.waits = True
    with subprocess.Popen(  # noqa: S603 - our own command
        [*COMMAND, "chat", "bio", "Why?"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(3) == "Thr"
        process.send_signal(signal.SIGINT)
        out, notes = process.communicate(timeout=20)

    assert (process.returncode, out, notes) == (130, "\n", "Cancelled.\n")
    until = time.monotonic() + 30
    while not services.orchestrator.abandoned and time.monotonic() < until:
        time.sleep(0.01)
    assert services.orchestrator.abandoned
