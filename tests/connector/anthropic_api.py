"""Anthropic's Messages API as the fake provider speaks it, checked with the types of its SDK.

Requests that the API would reject are answered with its error 400: `problems` lists the rules.
"""

import json
import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.message_create_params import (
    MessageCreateParamsNonStreaming,
    MessageCreateParamsStreaming,
)
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from pydantic import TypeAdapter, ValidationError

from connector.provider import Exchange, Provider, Script, provider
from connector.service import Stub, service
from connector.service import asked as generate_request

MODEL = "claude-sonnet-5-5"
KEY = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz"
VERSION = "2026-10-21"
_EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
_MESSAGE = TypeAdapter(Message)
_REQUESTS: dict[bool, TypeAdapter[Any]] = {
    True: TypeAdapter(MessageCreateParamsStreaming),
    False: TypeAdapter(MessageCreateParamsNonStreaming),
}
_PARAMETERS = frozenset(MessageCreateParamsStreaming.__annotations__)
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def event(kind: str, **members: Any) -> bytes:
    """Return an event of a stream. It fits the types of the SDK."""
    data = {"type": kind, **members}
    if kind not in ("ping", "error"):
        _EVENT.validate_python(data, strict=True)
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def start(**usage: Any) -> bytes:
    """Return the beginning of a message."""
    counts = {"input_tokens": 25, "output_tokens": 1, **usage}
    message: dict[str, Any] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": MODEL,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counts,
    }
    return event("message_start", message=message)


def block(index: int, content: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[bytes]:
    """Return the events of a block of content."""
    return [
        event("content_block_start", index=index, content_block=content),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def text(index: int, *pieces: str) -> list[bytes]:
    """Return the events of a text."""
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking(index: int, *pieces: str, signature: str = "EqQBCgIYAhIM==") -> list[bytes]:
    """Return the events of a signed piece of reasoning."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = {"type": "signature_delta", "signature": signature}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)


def tool_use(index: int, call_id: str, name: str, *pieces: str) -> list[bytes]:
    """Return the events of a call of a function."""
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}, *deltas)


def end(reason: str = "end_turn", *, usage: Mapping[str, Any] | None = None, **more: Any) -> bytes:
    """Return the end of a message."""
    delta = {"stop_reason": reason, "stop_sequence": None, **more}
    counts = {"output_tokens": 15, **(usage or {})}
    return event("message_delta", delta=delta, usage=counts) + event("message_stop")


def message(*content: Mapping[str, Any], reason: str = "end_turn", **more: Any) -> bytes:
    """Return a whole message. It fits the types of the SDK."""
    data = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(content),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 25, "output_tokens": 15},
        **more,
    }
    _MESSAGE.validate_python(data, strict=True)
    return json.dumps(data).encode()


def capabilities(*, efforts: Sequence[str] = (), **thinking: bool) -> dict[str, Any]:
    """Return the capabilities of a model; `thinking` are the types of thinking that it has."""

    def supported(*, value: bool) -> dict[str, bool]:
        return {"supported": value}

    kinds = ("adaptive", "enabled", "disabled", "between_tools")
    levels = ("low", "medium", "high", "xhigh", "max")
    return {
        **{
            name: supported(value=name in ("image_input", "pdf_input"))
            for name in ("batch", "citations", "code_execution", "image_input", "pdf_input")
        },
        "structured_outputs": supported(value=True),
        "thinking": {
            "supported": any(thinking.values()),
            "types": {kind: supported(value=thinking.get(kind, False)) for kind in kinds},
        },
        "effort": {
            "supported": bool(efforts),
            **{level: supported(value=level in efforts) for level in levels},
        },
    }


def model_info(capabilities: Mapping[str, Any] | None, name: str = MODEL) -> bytes:
    """Return what the API tells about a model."""
    return json.dumps(
        {
            "id": name,
            "type": "model",
            "display_name": name.title(),
            "created_at": "2026-10-01T00:00:00Z",
            "lifecycle": "active",
            "capabilities": capabilities,
        }
    ).encode()


def failure_body(kind: str, text: str) -> bytes:
    """Return the body of an error."""
    error = {"type": kind, "message": text}
    return json.dumps({"type": "error", "error": error, "request_id": "req_011"}).encode()


def messages_api(*pieces: bytes, whole: bytes = b"") -> Script:
    """Return a script that answers legal requests with a stream, or with a whole message."""

    async def script(exchange: Exchange) -> None:
        if problem := next(iter(problems(exchange)), ""):
            await exchange.reply(400, failure_body("invalid_request_error", problem))
        elif exchange.json.get("stream"):
            await exchange.stream(*pieces)
        else:
            await exchange.reply(200, whole)

    return script


def problems(exchange: Exchange) -> Sequence[str]:
    """Return why the API would reject a request."""
    if exchange.method != "POST":
        return [f"{exchange.method} {exchange.path} is not a request for a message"]
    reasons = []
    if exchange.headers.get("anthropic-version") != VERSION:
        reasons.append("anthropic-version: is not the version of these rules")
    if not exchange.headers.get("x-api-key"):
        reasons.append("x-api-key header is required")
    return [*reasons, *body_problems(exchange.json)]


def body_problems(body: Mapping[str, Any]) -> Sequence[str]:
    """Return why the API would reject the body of a request."""
    reasons = [f"{name}: Extra inputs are not permitted" for name in body.keys() - _PARAMETERS]
    try:
        _read(_REQUESTS[body.get("stream", False)].validate_python(body, strict=True))
    except ValidationError as error:
        reasons.append(str(error))
    return [*reasons, *_conversation_problems(body)]


def _read(value: object) -> None:
    """Read everything in a validated value: pydantic validates the items of iterables when read."""
    if isinstance(value, str | bytes):
        return
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable):
        for item in value:
            _read(item)


def _conversation_problems(body: Mapping[str, Any]) -> Sequence[str]:
    reasons = []
    turns = body["messages"]
    roles = [turn["role"] for turn in turns]
    if not turns or roles[0] != "user":
        reasons.append("messages: first message must use the user role")
    elif roles[-1] != "user":
        reasons.append("This model does not support assistant message prefill.")
    if any(one == other for one, other in pairwise(roles)):
        reasons.append("messages: roles must alternate")
    blocks = [block for turn in turns for block in turn["content"]]
    if any(not turn["content"] for turn in turns):
        reasons.append("messages: content must not be empty")
    if any(each["type"] == "text" and not each["text"].strip() for each in _inner(blocks)):
        reasons.append("messages: text content blocks must contain non-whitespace text")
    if any(each["type"] == "image" and not _is_image(each["source"]) for each in _inner(blocks)):
        reasons.append("messages: image: unsupported media type")
    used = [each["id"] for each in blocks if each["type"] == "tool_use"]
    if len(set(used)) != len(used):
        reasons.append("messages: `tool_use` ids must be unique")
    if not all(_ID.fullmatch(each) for each in used):
        reasons.append("messages: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if any(each["type"] in ("tool_use", "tool_result") for each in blocks) and not body.get(
        "tools"
    ):
        reasons.append(
            "Requests which include `tool_use` or `tool_result` blocks must define tools"
        )
    return [*reasons, *_result_problems(turns)]


def _result_problems(turns: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    reasons = []
    before: list[str] = []
    for turn in turns:
        results = [each["tool_use_id"] for each in turn["content"] if "tool_use_id" in each]
        kinds = [each["type"] for each in turn["content"]]
        if sorted(results) != sorted(before):
            reasons.append("messages: `tool_use` and `tool_result` blocks do not belong together")
        if "tool_result" in kinds[len(results) :]:
            reasons.append("messages: tool_result blocks come first")
        before = [each["id"] for each in turn["content"] if each["type"] == "tool_use"]
    return reasons


def _inner(blocks: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return blocks, and those within results of tools."""
    return [inner for each in blocks for inner in (each, *each.get("content", ()))]


def _is_image(source: Mapping[str, Any]) -> bool:
    return source["type"] == "url" or source["media_type"] in _IMAGES


@asynccontextmanager
async def claude(
    script: Script, monkeypatch: pytest.MonkeyPatch, key: str = KEY
) -> AsyncGenerator[tuple[Stub, Provider]]:
    """Run the service with its `anthropic` connector pointed at an API that does `script`."""
    async with provider(script) as api:
        monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_BASE_URL", api.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_API_KEY", key)
        async with service() as stub:
            yield stub, api


def ask(**fields: Any) -> pb.GenerateMessageRequest:
    """Return a request for a stream."""
    return generate_request("anthropic", MODEL, **fields)


def extra(**members: Any) -> chat.GenerationOptions:
    """Return options that the contract does not model."""
    return chat.GenerationOptions(extra_json=json.dumps(members))
