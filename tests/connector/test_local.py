"""The embedded model, for real."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.connectors.local import connector as local
from heddle_connector.connectors.local.connector import ENGINE_PROCESS
from heddle_connector.connectors.local.progress import OUT_OF_TIME
from heddle_runtime.errors import (
    DeadlineError,
    InvalidRequestError,
    NotFoundError,
    UnavailableError,
)
from heddle_runtime.identity.call_metadata import new_call_options
from loop_pauses import longest_pause
from patience import until
from runtime.examples import sampled
from structlog.testing import capture_logs

from connector.service import (
    Stub,
    answer,
    as_whole,
    asked,
    batches,
    events,
    failure,
    said,
    service,
)

WARNINGS = Path("studio/src/lib/chat/reply.ts").read_text()
MODEL = "smollm2-135m-instruct"
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        find_spec("xllamacpp") is None, reason="heddle-connector[local] is not installed"
    ),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stub() -> AsyncIterator[Stub]:
    """A service with one engine, for the tests that need no settings of their own."""
    async with service() as running:
        yield running


def ask(text: str = "Say hello.", tokens: int = 6, **fields: Any) -> pb.GenerateMessageRequest:
    options = chat.GenerationOptions(temperature=0, max_tokens=tokens)
    messages = fields.pop("messages", [said(text)])
    return asked("local", MODEL, messages, options=options, **fields)


async def test_the_embedded_model_answers_streamed_and_whole(stub: Stub) -> None:
    streamed = await batches(stub, ask(), 60)
    whole = await batches(stub, as_whole(ask()), 60)
    done = streamed[-1][-1].done
    assert done.finish_reason == chat.FINISH_REASON_LENGTH
    assert done.usage.completion_tokens == 6
    assert done.usage.prompt_tokens > 6
    assert done.model == MODEL
    text = answer([event for batch in streamed for event in batch])
    assert len(text) > 6
    assert len(streamed) > 3  # it streams
    (batch,) = whole
    assert answer(batch) == text
    for received in ([event for each in streamed for event in each], batch):
        warnings = [event.warning for event in received if event.HasField("warning")]
        assert warnings == ["A demonstration model answers: what it says is often wrong."]
        assert f'"{warnings[0].partition(":")[0]}"' in WARNINGS


@pytest.mark.parametrize("moment", sampled(["while it reads the prompt", "while it writes"], 1))
async def test_a_cancelled_answer_stops_the_engine(stub: Stub, moment: str) -> None:
    await events(stub, ask(), 60)  # loaded
    reads = moment == "while it reads the prompt"
    request = ask("time " * 3500) if reads else ask("Tell a long story.", 3000)
    call = stub.GenerateMessage(request, **new_call_options(60))
    waiting = asyncio.ensure_future(anext(aiter(call)))
    await asyncio.wait([waiting], timeout=0.5 if reads else 60)
    assert waiting.done() != reads
    call.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    # Either answer would use a whole core for at least another fifteen seconds.
    async with asyncio.timeout(8):
        while await used_of_a_core(0.5) > 0.3:
            pass


async def used_of_a_core(seconds: float) -> float:
    """Return the share of a core that the engine's process uses."""
    [engine] = engines()
    begun = used_seconds(engine)
    await asyncio.sleep(seconds)
    return (used_seconds(engine) - begun) / seconds


def used_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def engines() -> list[int]:
    """Return the processes of engines among those that this process started.

    Others of them run beside: fixtures of the session, and processes of earlier tests.
    """
    return [child for child in children(os.getpid()) if ENGINE_PROCESS in command_line(child)]


def command_line(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text().split("\0")


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


@pytest.mark.exhaustive
@pytest.mark.alone
async def test_other_connectors_answer_while_the_model_is_loaded() -> None:
    """The engine holds Python's lock for about a second."""
    async with service() as stub, longest_pause() as pause:
        await events(stub, ask(), 60)
    assert pause.seconds < 0.5


@pytest.mark.exhaustive
async def test_an_engine_that_was_killed_starts_again(stub: Stub) -> None:
    await events(stub, ask(), 60)
    [engine] = engines()
    os.kill(engine, signal.SIGKILL)
    await until(lambda: engine not in children(os.getpid()))  # nor a zombie
    assert await events(stub, ask(), 60)


WARNINGS = Path("studio/src/lib/chat/reply.ts").read_text()
STORY = "Tell a very long story about a weaver and the sea."


@pytest.mark.parametrize("shape", sampled([lambda request: request, as_whole], 1))
async def test_an_answer_ends_before_the_deadline_with_a_warning(
    stub: Stub, shape: Callable[..., Any]
) -> None:
    await events(stub, ask(), 60)  # loaded
    cut_off = await events(stub, shape(ask(STORY, 3_500)), 3)
    assert len(answer(cut_off)) > 20
    warnings = [event.warning for event in cut_off if event.HasField("warning")]
    assert OUT_OF_TIME in warnings
    done = cut_off[-1].done
    assert done.finish_reason == chat.FINISH_REASON_LENGTH
    assert done.usage.prompt_tokens > 10
    assert done.usage.completion_tokens > 3


async def test_a_prompt_that_takes_too_long_is_refused_early(stub: Stub) -> None:
    await events(stub, ask(), 60)
    started = time.monotonic()
    error = await failure(stub, ask("word " * 3_500), 5)
    assert time.monotonic() - started < 4  # it takes about twenty seconds to read
    assert type(error) is DeadlineError
    assert re.match(r"The conversation has 35\d\d tokens, and .* in the 4 seconds", error.message)


@pytest.mark.exhaustive
async def test_an_answer_that_waits_for_a_slot_until_its_deadline_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_LOCAL_SLOTS", "1")
    async with service() as stub:
        await events(stub, ask(), 60)
        first = asyncio.ensure_future(events(stub, ask(STORY, 3_500), 8))
        await asyncio.sleep(1)  # it has the slot
        error = await failure(stub, ask(), 2)
        assert (await first)[-1].done.finish_reason == chat.FINISH_REASON_LENGTH
    assert type(error) is UnavailableError
    assert "busy" in error.message


@pytest.mark.exhaustive
async def test_a_model_that_is_not_loaded_in_time_is_unavailable() -> None:
    async with service() as stub:
        error = await failure(stub, ask(), 0.2)
        assert await events(stub, ask(), 60)  # it is loaded all the same
    assert type(error) in (UnavailableError, DeadlineError)


@pytest.mark.exhaustive
async def test_more_answers_than_slots_wait_their_turn(stub: Stub) -> None:
    found = await asyncio.gather(*(events(stub, ask(), 60) for _ in range(5)))
    assert all(answer(one) for one in found)


@pytest.mark.exhaustive
async def test_a_prompt_that_does_not_fit_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_LOCAL_CONTEXT", "256")
    async with service() as stub:
        error = await failure(stub, ask("word " * 400), 60)
        assert type(error) is InvalidRequestError
        assert "Shorten the conversation" in error.message
        assert "256" in error.message  # for each slot, not for all together
        assert await events(stub, ask(), 60)  # and the engine goes on


async def test_pictures_and_unknown_schemas_are_refused(stub: Stub) -> None:
    picture = chat.ContentPart(image=chat.Media(data=b"x", media_type="image/png"))
    message = chat.Message(role=chat.ROLE_USER, parts=[chat.ContentPart(text="a"), picture])
    schema = '{"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"x"}}}}'
    wrong = ask()
    wrong.options.extra_json = schema
    assert type(await failure(stub, ask(messages=[message]), 60)) is InvalidRequestError
    assert type(await failure(stub, wrong, 60)) is InvalidRequestError


async def test_a_developer_speaks_as_the_system(stub: Stub) -> None:
    messages = [said("You say yes.", chat.ROLE_DEVELOPER), said("Hello?")]
    assert answer(await events(stub, ask(messages=messages), 60))


@pytest.mark.exhaustive
async def test_another_model_is_one_setting_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = local._installed(local.LocalSettings())  # noqa: SLF001 - where the file is, is ours to know
    (tmp_path / "Other.Q4.gguf").symlink_to(path)
    monkeypatch.setenv("HEDDLE_CONNECTOR_LOCAL_MODEL_PATH", str(tmp_path / "Other.Q4.gguf"))
    async with service() as stub:
        listed = await stub.ListModels(
            pb.ListModelsRequest(connector="local"), **new_call_options(5)
        )
        assert [model.ref.model for model in listed.models] == ["Other.Q4"]
        found = await events(stub, asked("local", "Other.Q4", options=ask().options), 60)
        assert found[-1].done.model == "Other.Q4"
        assert type(await failure(stub, ask())) is NotFoundError


@pytest.mark.exhaustive
@pytest.mark.parametrize("content", [None, b"GGUF but not really"])
async def test_a_model_that_cannot_be_loaded_is_unavailable_and_says_why(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "bad.gguf"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("HEDDLE_CONNECTOR_LOCAL_MODEL_PATH", str(path))
    async with service() as stub:
        for _ in range(2):  # also when tried again
            error = await failure(stub, asked("local", "bad"), 60)
            assert type(error) is UnavailableError
            assert str(tmp_path) not in error.message


async def test_without_the_extra_the_log_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_ENGINE", "no_such_engine")
    async with service() as stub:
        with capture_logs() as logs:
            error = await failure(stub, ask())
        listed = await stub.ListModels(
            pb.ListModelsRequest(connector="local"), **new_call_options(5)
        )
    assert type(error) is UnavailableError
    assert error.message == listed.problems[0].message
    [line] = [entry for entry in logs if entry["event"] == "call failed"]
    assert "heddle-connector[local]" in line["diagnosis"]


STOPPED_AT_WORK = """
import asyncio, sys
from connector.service import ask_local, service

async def main() -> None:
    async with service() as stub:
        call = stub.GenerateMessage(ask_local(), timeout=60)
        await anext(aiter(call))
        if sys.argv[1] == "exit":
            sys.exit(7)

asyncio.run(main())
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("how", "code"), sampled([("stop", 0), ("exit", 7)], 1))
async def test_stopping_in_mid_answer_never_crashes_the_process(how: str, code: int) -> None:
    """The engine crashes if it is freed in mid-answer."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    begun = time.monotonic()
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", STOPPED_AT_WORK, how],
        env=environment,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == code, ended.stderr.decode()[-2000:]
    assert time.monotonic() - begun < 30
