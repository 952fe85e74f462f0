"""Run events in OpenAI's form, for streamed and whole completions."""

import base64
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from heddle.chat.v1 import chat_pb2
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ModelReplaced, ToolCall, Usage
from heddle.orchestrator.v1.orchestrator_pb2 import (
    Decision,
    Output,
    Status,
    ToolFinished,
    ToolStarted,
)
from heddle.tool.v1.tool_pb2 import Source
from heddle_runtime.contract.json_text import members

_IDS = random.Random()  # noqa: S311 - an id is not secret and must be cheap


def new_id(prefix: str, separator: str = "_") -> str:
    """Return a new identifier."""
    return f"{prefix}{separator}{_IDS.getrandbits(128):032x}"


WEB = ("https://", "http://")


def status(action: str, description: str, *, done: bool, hidden: bool = False) -> bytes:
    """Return the event of one line of progress.

    `done` ends the line's animation. `hidden` removes the line.
    """
    data: dict[str, Any] = {"action": action, "description": description, "done": done}
    if hidden:
        data["hidden"] = True
    return msgspec.json.encode({"type": "status", "data": data})


def source(origin: str, name: str, sources: Sequence[Source]) -> bytes:
    """Return the event of the sources of one tool."""
    return msgspec.json.encode({"type": "source", "data": group(origin, name, sources)})


def group(origin: str, name: str, sources: Sequence[Source]) -> dict[str, Any]:
    """Return sources as Open WebUI stores them: parallel lists with an entry per passage."""
    group: dict[str, Any] = {
        "source": {"id": origin, "name": name},
        "document": [item.excerpt or item.title for item in sources],
        "metadata": [_metadata(item) for item in sources],
    }
    if all(item.HasField("score") for item in sources):
        group["distances"] = [item.score for item in sources]
    return group


def _metadata(item: Source) -> dict[str, Any]:
    # A tool chooses the names of attributes, and Open WebUI acts on some (it renders `html`), so
    # only the page is passed on.
    metadata: dict[str, Any] = {"source": item.uri or item.title, "name": item.title or item.uri}
    if item.uri.startswith(WEB):
        metadata["external"] = True  # otherwise Open WebUI shows the address in place of the title
    page = item.attributes.get("page", "")
    if page.isdecimal() and int(page) > 0:
        metadata["page"] = int(page) - 1  # Open WebUI counts from 0 and shows from 1
    return metadata


class Citation(NamedTuple):
    """A source that clients can show."""

    title: str
    text: str
    """The first passage."""
    url: str = ""
    """Its web address; empty for other sources."""
    file: str = ""
    """The identifier of the file of a source without a web address, else its title."""


def citations(sources: Sequence[Source]) -> list[Citation]:
    """Return the sources with a web address, each address once, and then the other files."""
    cited: dict[tuple[bool, str], Citation] = {}
    for each in sources:
        if each.uri.startswith(WEB):
            citation = Citation(each.title or each.uri, each.excerpt, url=each.uri)
        elif each.title:
            citation = Citation(each.title, each.excerpt, file=file_id(each))
        else:
            continue
        cited.setdefault((not citation.url, citation.url or citation.file), citation)
    return [cited[key] for key in sorted(cited, key=lambda key: key[0])]


def annotations(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return OpenAI's citations of the sources that have a web address."""
    return [
        {"type": "url_citation", "url_citation": web_citation(each)}
        for each in citations(sources)
        if each.url
    ]


def web_citation(citation: Citation) -> dict[str, Any]:
    """Return OpenAI's members of a citation. Its position is unknown, so the range is empty."""
    return {"url": citation.url, "title": citation.title, "start_index": 0, "end_index": 0}


def file_id(source: Source) -> str:
    """Return the identifier of the file of a source, or its title."""
    attributes = source.attributes
    return attributes.get("file_id") or attributes.get("document_id") or source.title


Link = Callable[[str], str]
"""Returns the address of an image for a client."""
_REASONS = {
    chat_pb2.FINISH_REASON_STOP: "stop",
    chat_pb2.FINISH_REASON_LENGTH: "length",
    chat_pb2.FINISH_REASON_TOOL_CALLS: "tool_calls",
    chat_pb2.FINISH_REASON_CONTENT_FILTER: "content_filter",
}
ONE_CALL = (
    "The model called several functions, but function_call has room for the first only. Declare "
    "the functions as tools to receive all calls."
)
# Only these members of a provider's metadata are passed on: others could have a meaning to clients.
_FINGERPRINT, _TIER = _SHOWN = ("system_fingerprint", "service_tier")
# Members that a provider cannot override.
_CALL_MEMBERS = frozenset({"index", "id", "function"})
_MESSAGE_MEMBERS = frozenset(
    {
        *("role", "content", "refusal", "tool_calls", "function_call"),
        *("annotations", "reasoning_content"),
    }
)


def finish_reason(done: Done, calls: int, *, legacy: bool = False) -> str:
    """Return OpenAI's reason for the end of a completion.

    Clients run the functions only if it is `tool_calls`, or in the older form `function_call`; some
    providers return `stop`.
    """
    reason = _REASONS.get(done.finish_reason, "stop")
    if calls and reason in ("stop", "tool_calls"):
        return "function_call" if legacy else "tool_calls"
    return reason


def usage(counts: Usage) -> dict[str, Any]:
    """Return the usage of a completion, zeros if the provider did not report it."""
    prompt, completion = counts.prompt_tokens, counts.completion_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": counts.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": counts.reasoning_tokens},
    }


def tool_name(event: ToolStarted | ToolFinished) -> str:
    """Return the visible name of a tool: the function, if the model called one."""
    return event.call.name or event.tool


def file_change(tool: str, status: Status) -> dict[str, Any]:
    """Return the change of a file for clients that show changes. Without a line, `lines` is null.

    No text of a tool becomes a member's name.
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


def decision_text(event: Decision) -> str:
    """Return a decision of the routing agent as text."""
    tools = ", ".join(choice.tool for choice in event.choices)
    return f"chose {tools}: {event.reason}"


def decision(event: Decision) -> dict[str, Any]:
    """Return a decision of the routing agent for clients that show them."""
    choices = [
        {"tool": choice.tool, "inputs": members(choice.inputs_json)} for choice in event.choices
    ]
    data = {
        "iteration": event.iteration,
        "choices": choices,
        "reason": event.reason,
        "router": event.router,
        "rejected": event.rejected or None,
    }
    return {"type": "decision", "data": data}


def output(event: Output) -> dict[str, Any]:
    """Return an output of the routing agent's tools, or its answer, for such clients."""
    data = {
        "type": event.type,
        "query_id": event.query_id,
        "payload": members(event.payload_json),
    }
    return {"type": "output", "data": data}


def tool_call(call: ToolCall) -> dict[str, Any]:
    """Return the call of a client's function, with members that its provider needs back."""
    function = {"name": call.name, "arguments": call.arguments_json}
    result: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if extra := call.extra_json:
        result |= {name: it for name, it in members(extra).items() if name not in _CALL_MEMBERS}
    return result


def function_call(call: ToolCall) -> dict[str, Any]:
    """Return the call of a client's function in OpenAI's older form."""
    return {"name": call.name, "arguments": call.arguments_json}


def message_extra(done: Done, calls: int) -> dict[str, Any]:
    """Return the members that the provider needs back with a message that has calls."""
    if not calls or not done.message_extra_json:
        return {}
    extra = members(done.message_extra_json)
    return {name: it for name, it in extra.items() if name not in _MESSAGE_MEMBERS}


def image_path(name: str) -> str:
    """Return the path of a generated image."""
    return f"/v1/pictures/{name}"


def image_link(image: GeneratedImage, link: Link) -> str:
    """Return an image as Markdown, for clients that show only text."""
    return f"![picture]({link(image.name)})"


def image_reference(image: GeneratedImage, link: Link) -> str:
    """Return the address of an image as a Markdown definition, which renders as nothing.

    With it the image stays in the conversation of a client that shows the image otherwise: Open
    WebUI leaves out answers without text from later requests.
    """
    return f"\n\n[picture]: {link(image.name)}\n\n"


def image_part(image: GeneratedImage) -> dict[str, Any]:
    """Return an image as an OpenAI content part. It is visible without a key."""
    data = f"data:{image.media_type};base64,{encoded(image)}"
    return {"type": "image_url", "image_url": {"url": data}}


def encoded(image: GeneratedImage) -> str:
    """Return an image in base64."""
    return base64.b64encode(image.data).decode("ascii")


def replacement(event: ModelReplaced) -> str:
    """Return the message about a model that another model has replaced."""
    return f"{event.requested} is not available, {event.replacement} answers"


def provider_metadata(text: str) -> dict[str, str]:
    """Return the members of the provider's metadata, a JSON object, that clients know."""
    if not (_FINGERPRINT in text or _TIER in text):  # most providers send neither
        return {}
    metadata = members(text)
    return {name: metadata[name] for name in _SHOWN if isinstance(metadata.get(name), str)}
