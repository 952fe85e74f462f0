"""A conversation that is longer than the model can read is answered without its oldest turns."""

from itertools import takewhile

import grpc
import pytest
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_orchestrator.context_budget import is_too_long
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    ProviderRefusedError,
    UnavailableError,
)
from orchestrator.harness import Harness, ask, assistant


def turns(count: int) -> list[chat_pb2.Message]:
    """Return turns of 200 characters each, and a question of the user."""
    messages = []
    for number in range(count):
        for role in (chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT):
            part = chat_pb2.ContentPart(text=f"{number:04}" + "x" * 96)
            messages.append(chat_pb2.Message(role=role, parts=[part]))
    question = chat_pb2.ContentPart(text="Why?")
    return [*messages, chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=[question])]


def run(count: int, **members: bool) -> pb.RunCompletionRequest:
    request = ask(assistant(system_prompt="Be brief.", template="{user_input}"))
    del request.messages[:]
    request.messages.extend(turns(count))
    for name, value in members.items():
        setattr(request, name, value)
    return request


def prompts(harness: Harness) -> list[list[str]]:
    """Return the texts of each prompt that the model got."""
    return [
        ["".join(part.text for part in each.parts) for each in request.messages]
        for request in harness.connector.seen
    ]


async def test_a_thousand_messages_are_answered_and_the_prompt_keeps_its_beginning(
    harness: Harness,
) -> None:
    harness.connector.window = 20_000
    events = await harness.events(run(500, truncate=True))
    [warning, *rest] = [each.warning for each in events if each.HasField("warning")]
    assert "oldest messages were left out" in warning
    assert not rest
    assert events[-1].HasField("done")
    first = prompts(harness)[-1]
    assert (first[0], first[-1].strip()) == ("Be brief.", "Why?")
    tries = len(harness.connector.seen)
    assert 1 < tries < 10

    same = []
    for count in range(501, 521):
        await harness.events(run(count, truncate=True))
        before, after = prompts(harness)[-2:]
        pairs = zip("".join(before[:-1]), "".join(after[:-1]), strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        same.append(common / sum(map(len, after)))
    assert len(harness.connector.seen) <= tries + 21  # nearly nothing is refused again
    assert sum(each > 0.9 for each in same) >= 17  # caches of providers work for most turns


@pytest.mark.parametrize("members", [{}, {"truncate": True}])
async def test_the_last_message_is_never_left_out(
    harness: Harness, members: dict[str, bool]
) -> None:
    harness.connector.window = 3 if members else 1_000
    with pytest.raises(grpc.aio.AioRpcError, match="too long"):
        await harness.events(run(20, **members))
    assert all(texts[-1].strip() == "Why?" for texts in prompts(harness))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidRequestError("x", provider_code="context_length_exceeded"), True),
        (ProviderRefusedError("prompt is too long: 9 tokens", http_status="400"), True),
        (ProviderRefusedError("The maximum context length is 8", http_status="400"), True),
        (ProviderRefusedError("Unknown voice.", http_status="400"), False),
        (UnavailableError("The context window service is down."), False),
    ],
)
def test_refusals_of_long_prompts_are_known(error: HeddleError, expected: bool) -> None:
    assert is_too_long(error) is expected
