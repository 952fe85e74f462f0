"""Parts that streamed and whole answers have in common."""

import base64
from collections.abc import Callable
from typing import Any

import msgspec
from heddle.chat.v1 import chat_pb2
from heddle.chat.v1.chat_pb2 import Done, ModelReplaced, Picture, ToolCall, Usage
from heddle.orchestrator.v1.orchestrator_pb2 import (
    Decision,
    Output,
    RunEvent,
    Status,
    ToolFinished,
    ToolStarted,
)

Link = Callable[[str], str]
"""From the name of a picture to where a client finds it."""
_REASONS = {
    chat_pb2.FINISH_REASON_STOP: "stop",
    chat_pb2.FINISH_REASON_LENGTH: "length",
    chat_pb2.FINISH_REASON_TOOL_CALLS: "tool_calls",
    chat_pb2.FINISH_REASON_CONTENT_FILTER: "content_filter",
}
# What a provider tells about its answer is shown by name, because a chunk's other members have
# a meaning to clients.
_FINGERPRINT, _TIER = _SHOWN = ("system_fingerprint", "service_tier")
# What answers say themselves, whatever a provider adds.
_OF_CALLS = frozenset({"index", "id", "function"})
_OF_MESSAGES = frozenset(
    {
        *("role", "content", "refusal", "tool_calls", "function_call"),
        *("annotations", "reasoning_content"),
    }
)


def finish_reason(done: Done, calls: int) -> str:
    """Return OpenAI's word for why the answer ended.

    Clients run the functions only if the word is `tool_calls`; some providers say `stop`.
    """
    reason = _REASONS.get(done.finish_reason, "stop")
    return "tool_calls" if calls and reason == "stop" else reason


def usage(counted: Usage) -> dict[str, Any]:
    """Return what the answer consumed. Zeros if the provider did not tell."""
    prompt, completion = counted.prompt_tokens, counted.completion_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": counted.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": counted.reasoning_tokens},
    }


def tool_name(told: ToolStarted | ToolFinished) -> str:
    """Return what people read for a tool: the function if it was the model that called one."""
    return told.call.name or told.tool


def file_change(tool: str, status: Status) -> dict[str, Any]:
    """Return the change of a file for clients that show changes. Without a line, `lines` is null.

    Made member by member: none of a tool's words becomes a name.
    """
    change = status.change
    lines = [change.line_start, change.line_end] if change.line_start else None
    data = {
        "tool": tool,
        "call_id": status.call_id or None,
        "file": change.path,
        "reason": change.reason,
        "lines": lines,
        "diff": change.diff,
    }
    return {"type": "file_change", "data": data}


def decided(made: Decision) -> str:
    """Return what people read of a decision of the routing agent."""
    tools = ", ".join(choice.tool for choice in made.choices)
    return f"chose {tools}: {made.reason}"


def decision(made: Decision) -> dict[str, Any]:
    """Return a decision of the routing agent for clients that show them."""
    choices = [
        {"tool": choice.tool, "inputs": members(choice.inputs_json)} for choice in made.choices
    ]
    data = {
        "iteration": made.iteration,
        "choices": choices,
        "reason": made.reason,
        "router": made.router,
        "rejected": made.rejected or None,
    }
    return {"type": "decision", "data": data}


def output(made: Output) -> dict[str, Any]:
    """Return what came out of a tool of the routing agent, or its answer, for such clients."""
    data = {
        "type": made.type,
        "query_id": made.query_id,
        "payload": members(made.payload_json),
    }
    return {"type": "output", "data": data}


def routed(event: RunEvent) -> dict[str, Any]:
    """Return a decision or an output."""
    if event.HasField("decision"):
        return decision(event.decision)
    return output(event.output)


def tool_call(call: ToolCall) -> dict[str, Any]:
    """Return the call of a client's function, with what its provider wants to read again."""
    function = {"name": call.name, "arguments": call.arguments_json}
    made: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if extra := call.extra_json:
        made |= {name: it for name, it in members(extra).items() if name not in _OF_CALLS}
    return made


def message_extra(done: Done, calls: int) -> dict[str, Any]:
    """Return what the provider wants to read again with the message if it has calls."""
    if not calls or not done.message_extra_json:
        return {}
    told = members(done.message_extra_json)
    return {name: it for name, it in told.items() if name not in _OF_MESSAGES}


def here(name: str) -> str:
    """Return where a picture is, seen from this gateway."""
    return f"/v1/pictures/{name}"


def picture_link(made: Picture, link: Link) -> str:
    """Return what a client shows that knows only text."""
    return f"![picture]({link(made.name)})"


def picture(made: Picture) -> dict[str, Any]:
    """Return what a client shows that knows pictures in answers: it opens without a key."""
    data = f"data:{made.media_type};base64,{encoded(made)}"
    return {"type": "image_url", "image_url": {"url": data}}


def encoded(made: Picture) -> str:
    """Return a picture in base64."""
    return base64.b64encode(made.data).decode("ascii")


def replacement(told: ModelReplaced) -> str:
    """Return the sentence about a model that another one stands in for."""
    return f"{told.wanted} is not available, {told.used} answers"


def provider_metadata(text: str) -> dict[str, str]:
    """Return the members of the provider's own report, a JSON object, that clients know."""
    if not (_FINGERPRINT in text or _TIER in text):  # most providers tell neither
        return {}
    told = members(text)
    return {name: told[name] for name in _SHOWN if isinstance(told.get(name), str)}


def members(text: str) -> dict[str, Any]:
    """Return the members of a JSON object that another service sent, none if it is not one."""
    if not text:
        return {}
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
