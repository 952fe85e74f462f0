"""The least that a gateway of these contracts has to do for a whole answer, in steps."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import ROLE_SYSTEM, ROLE_USER
from heddle.connector.v1.connector_pb2 import (
    GenerateWholeMessageRequest,
    GenerateWholeMessageResponse,
)
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
    RunWholeCompletionRequest,
    RunWholeCompletionResponse,
)

from benchmarks.gateway import tokens

_ROLES = {"system": ROLE_SYSTEM, "user": ROLE_USER}
_NAMES = {number: name for name, number in _ROLES.items()}
Ask = Callable[[bytes], Awaitable[bytes]]
Step = Callable[[Ask, bytes], Awaitable[bytes]]


async def http_only(_: Ask, body: bytes) -> bytes:
    """Read a request over HTTP and send a constant answer."""
    return _constant(body)


async def and_provider(ask: Ask, body: bytes) -> bytes:
    """Hand the bytes to the provider and back."""
    return await ask(body)


async def and_json(ask: Ask, body: bytes) -> bytes:
    """Read and write the JSON of all four messages."""
    answer = msgspec.json.decode(await ask(msgspec.json.encode(msgspec.json.decode(body))))
    return msgspec.json.encode(answer)


async def and_contracts(ask: Ask, body: bytes) -> bytes:
    """Put what the JSON says into the two requests and the two responses of the contracts."""
    run = _run(msgspec.json.decode(body))
    order = GenerateWholeMessageRequest()
    order.generation.messages.extend(run.messages)
    order.generation.options.CopyFrom(run.options)
    options = order.generation.options
    messages = [
        {"role": _NAMES[turn.role], "content": turn.parts[0].text}
        for turn in order.generation.messages[:]
    ]
    asked = {"model": "fake", "messages": messages, "max_tokens": options.max_tokens}
    generated = GenerateWholeMessageResponse()
    _fill(generated, msgspec.json.decode(await ask(msgspec.json.encode(asked))))
    answer = RunWholeCompletionResponse()
    text, done = generated.events[:]
    answer.events.add(text_delta=text.text_delta)
    answer.events.add(done=done.done)
    text_event, done_event = answer.events[:]
    used = done_event.done.usage.completion_tokens
    message = {"role": "assistant", "content": text_event.text_delta}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return msgspec.json.encode({"choices": [choice], "usage": {"completion_tokens": used}})


STEPS: dict[str, Step] = {
    step.__name__: step for step in (http_only, and_provider, and_json, and_contracts)
}


def _run(given: dict[str, list[dict[str, str]]]) -> RunCompletionRequest:
    run = RunWholeCompletionRequest().run
    for turn in given["messages"]:
        run.messages.add(role=_ROLES[turn["role"]]).parts.add(text=turn["content"])
    run.options.max_tokens = given["max_tokens"]  # type: ignore[assignment] # the one number in it
    return run


def _fill(generated: GenerateWholeMessageResponse, answer: dict[str, Any]) -> None:
    generated.events.add(text_delta=answer["choices"][0]["message"]["content"])
    done = generated.events.add().done
    done.usage.completion_tokens = answer["usage"]["completion_tokens"]


@cache
def _constant(body: bytes) -> bytes:
    return tokens.whole(msgspec.json.decode(body)["max_tokens"])
