"""Converts results and exceptions of tools to messages and errors of the contract."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import httpx
import structlog
from google.protobuf.json_format import ParseError
from google.protobuf.struct_pb2 import Struct
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.contract.unicode_text import valid_text
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    ToolFailedError,
    UnavailableError,
)
from heddle_runtime.redaction import redact, redact_registered, redact_value

from heddle_tools_service.definitions.checks import is_slot
from heddle_tools_service.sdk import (
    FileChange,
    Source,
    ToolError,
    ToolResult,
    ToolUnavailableError,
)

log = structlog.get_logger(__name__)
DENIED = (
    "Plugins have no files but their folder, no sockets and no programs. Use a capability, and "
    "httpx for requests."
)
"""The remedy for what the sandbox denies."""
OUT_OF_MEMORY = "out_of_memory"
"""The kind of the error of a tool that reaches the limit of its memory."""
MAX_TEXT_CHARS = 400_000
MAX_PHRASE_CHARS = 300
_MAX_MESSAGE_CHARS = 2_500
_MAX_DIFF_CHARS = 20_000
_MAX_DETAILS_CHARS = 20_000
_MAX_METADATA_BYTES = 400_000
"""Bytes."""
_MAX_SOURCES = 200
_MAX_SOURCES_BYTES = 4_000_000
"""Bytes of all sources of a result."""
_MAX_WARNINGS = 64
_MAX_FIELD_CHARS = 4_000
_MAX_OBJECTS = 500
_MAX_EXCERPT_CHARS = 1_000
_BELL = "\a"
"""Between texts: it ends an escape sequence of a terminal, which would hide what follows."""


def phrase(message: str) -> str:
    """Return a status for users: one line, without secrets, at most 300 characters."""
    shown = redact(valid_text(" ".join(str(message)[: 2 * MAX_PHRASE_CHARS].split())))
    return shown if len(shown) <= MAX_PHRASE_CHARS else f"{shown[: MAX_PHRASE_CHARS - 1]}…"


def progress(message: str, change: FileChange | None = None) -> pb.ToolStatus:
    """Return a status as the contract's message."""
    if change is None:
        return pb.ToolStatus(message=phrase(message))
    message_change = pb.FileChange(
        path=_cut(change.path),
        reason=_cut(redact(change.reason)),
        line_start=change.first,
        line_end=change.last,
        diff=valid_text(lines_within(change.diff, _MAX_DIFF_CHARS)),
    )
    return pb.ToolStatus(message=phrase(message), change=message_change)


def lines_within(text: str, most: int) -> str:
    """Return the whole lines at the beginning of `text` that have at most `most` characters."""
    return text if len(text) <= most else text[: text.rfind("\n", 0, most) + 1]


def late(tool: str, seconds: float) -> HeddleError:
    """Return the failure of a tool that took too long."""
    message = f"The tool {tool!r} did not finish within {seconds:.3g} s."
    return DeadlineError(message, tool=tool)


def failure(tool: str, raised: BaseException) -> HeddleError:
    """Return the error that callers receive for an exception of a tool."""
    while isinstance(raised, BaseExceptionGroup):  # of a task group
        raised = raised.exceptions[0]
    match raised:
        case HeddleError():
            return raised
        case ToolUnavailableError():
            error: HeddleError = UnavailableError(
                _safe(raised), diagnosis=raised.diagnosis, tool=tool
            )
            error.metadata |= _more(raised)
        case ToolError():
            error = ToolFailedError(_safe(raised), diagnosis=raised.diagnosis, tool=tool)
            error.metadata |= _more(raised)
        case httpx.HTTPError():
            error = UnavailableError(
                f"The server behind the tool {tool!r} does not answer. Try again later.",
                diagnosis=_request_of(raised),
                tool=tool,
            )
        case MemoryError():
            message = f"The tool {tool!r} needs more memory than it may use. Ask for less at once."
            setting = "HEDDLE_TOOLS_PLUGIN_MEMORY_MB limits the memory of plugins."
            error = ToolFailedError(message, diagnosis=setting, tool=tool, kind=OUT_OF_MEMORY)
        case TimeoutError():
            error = DeadlineError(f"The tool {tool!r} waited too long.", tool=tool)
        case _:
            remedy = DENIED if isinstance(raised, PermissionError) else None
            log.error("tool failed", tool=tool, exc_info=raised, remedy=remedy)
            message = f"The tool {tool!r} failed. Give the request id to the operator."
            error = HeddleError(message, tool=tool)
    return error


def _request_of(error: httpx.HTTPError) -> str:
    try:
        place = f"{error.request.method} {error.request.url}: "
    except RuntimeError:  # the error belongs to no request
        place = ""
    return f"{place}{type(error).__name__}: {error}"


def result(
    tool: str,
    default_slot: str,
    tool_result: ToolResult,
    slot: str,
    elapsed: float,
    *,
    for_agent: bool,
) -> pb.ToolResult:
    """Return a tool's result as the contract's message, cut to the limits of a message.

    Args:
        tool: The tool's name.
        default_slot: The slot that it fills.
        tool_result: The result of the tool.
        slot: The slot of the binding; empty for the tool's.
        elapsed: Seconds that the tool took.
        for_agent: Whether the routing agent reads the result. It needs objects: without any, the
            text becomes one, unless the tool found nothing.
    """
    warnings = [_cut(redact(warning)) for warning in tool_result.warnings]
    if tool_result.slot and not is_slot(tool_result.slot):
        warnings.append(
            "The slot that the tool named is not valid; the tool's default slot was filled."
        )
        tool_result = replace(tool_result, slot="")
    text = tool_result.text
    if len(text) > MAX_TEXT_CHARS:
        warnings.append(f"The output was cut from {len(text):,} to {MAX_TEXT_CHARS:,} characters.")
        text = text[:MAX_TEXT_CHARS]
    metadata = _metadata(tool_result, warnings)
    sources = _sources(tool_result.sources[:_MAX_SOURCES], warnings)
    if len(sources) == 1 and not sources[0].excerpt:  # the source of the whole text
        sources[0].excerpt = valid_text(text[:_MAX_EXCERPT_CHARS])
    text = redact_registered(valid_text(text))
    objects = _objects(tool_result.objects, warnings) if for_agent else []
    if for_agent and text.strip() and not objects and tool_result.count != 0:
        objects.append(json.dumps({"text": text}, ensure_ascii=False))
    message = pb.ToolResult(
        parts=[chat_pb2.ContentPart(text=text)] if text else [],
        sources=sources,
        warnings=warnings[-_MAX_WARNINGS:],
        slot=slot or tool_result.slot or default_slot,
        name=_cut(tool_result.name) or (tool if for_agent else ""),
        objects_json=objects,
        message=phrase(tool_result.message),
        result_count=tool_result.count,
    )
    message.metadata.CopyFrom(metadata)
    message.elapsed.FromNanoseconds(int(elapsed * 1e9))
    return message


def checked_result(
    tool: pb.Tool, returned: pb.ToolResult, slot: str, elapsed: float
) -> pb.ToolResult:
    """Return the result of a plugin's process, which may have sent anything, within the limits.

    Args:
        tool: The tool.
        returned: The result that its process sent.
        slot: The slot of the binding; empty for the tool's.
        elapsed: Seconds that the tool took.
    """
    tool_result = ToolResult(
        "".join(part.text for part in returned.parts),
        [
            Source(
                each.title,
                each.uri,
                each.excerpt,
                each.score if each.HasField("score") else None,
                each.kind,
                dict(each.attributes),
            )
            for each in returned.sources
        ],
        from_struct(returned.metadata),
        returned.warnings[:],
        "" if returned.slot == tool.default_slot else returned.slot,
        [members for each in returned.objects_json if (members := _members(each)) is not None],
        returned.name,
        returned.message,
        returned.result_count if returned.HasField("result_count") else None,
    )
    mapped = result(tool.name, tool.default_slot, tool_result, slot, elapsed, for_agent=True)
    if not returned.objects_json:
        mapped.ClearField("objects_json")
        mapped.name = _cut(returned.name)
    return mapped


def _members(text: str) -> dict[str, Any] | None:
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return members if isinstance(members, dict) else None


def _objects(objects: Iterable[object], warnings: list[str]) -> list[str]:
    texts: list[str] = []
    size = wrong = more = 0
    for each in objects:
        try:
            text = valid_text(json.dumps(each, ensure_ascii=False, allow_nan=False))
            text = redact_registered(text)
        except (ValueError, TypeError, RecursionError):
            text = ""
        if not text.startswith("{"):
            wrong += 1
        elif len(texts) == _MAX_OBJECTS or size + len(text) > MAX_TEXT_CHARS:
            more += 1
        else:
            size += len(text)
            texts.append(text)
    if wrong:
        warnings.append(f"{wrong} of the tool's objects are no JSON objects and were left out.")
    if more:
        warnings.append(f"{more} of the tool's objects were left out: they are too many.")
    return texts


def _metadata(tool_result: ToolResult, warnings: list[str]) -> Struct:
    try:
        metadata = to_struct(redact_value(tool_result.metadata))
    except (ValueError, TypeError, ParseError, RecursionError):
        warnings.append("The tool's metadata is not plain JSON and was left out.")
        return Struct()
    if metadata.ByteSize() > _MAX_METADATA_BYTES:
        limit = f"{_MAX_METADATA_BYTES:,} bytes"
        warnings.append(f"The tool's metadata has more than {limit} and was left out.")
        return Struct()
    return metadata


def _sources(sources: Sequence[Source], warnings: list[str]) -> list[pb.Source]:
    messages: list[pb.Source] = []
    size = 0
    for source in sources:
        message = _source(source)
        size += message.ByteSize()
        if size > _MAX_SOURCES_BYTES:
            left_out = len(sources) - len(messages)
            warnings.append(f"{left_out} of the tool's sources were left out: they are too large.")
            break
        messages.append(message)
    return messages


def _source(source: Source) -> pb.Source:
    attributes = source.attributes
    texts = [
        source.title,
        source.uri,
        source.excerpt,
        source.kind,
        *attributes,
        *attributes.values(),
    ]
    title, uri, excerpt, kind, *more = _all_cut([str(each) for each in texts])
    names, values = more[: len(attributes)], more[len(attributes) :]
    return pb.Source(
        title=title,
        uri=uri,
        excerpt=excerpt,
        score=source.score,
        kind=kind,
        attributes=dict(zip(names, values, strict=True)),
    )


def _all_cut(texts: Sequence[str]) -> list[str]:
    """Cut texts as `_cut` does. One search finds that none of them has a secret, as is usual."""
    cut = [text[:_MAX_FIELD_CHARS] for text in texts]
    together = _BELL.join(cut)
    if redact_registered(valid_text(together)) == together:
        return cut
    return [_cut(text) for text in cut]


def _more(error: ToolError) -> dict[str, str]:
    more = {"kind": _cut(error.kind)} if error.kind else {}
    if error.details:
        try:
            details = valid_text(json.dumps(redact_value(error.details), ensure_ascii=False))
        except (ValueError, TypeError, RecursionError):
            log.error("a tool's error has details that are no JSON", kind=error.kind)  # noqa: TRY400 - the tool is at fault
        else:
            if len(details) <= _MAX_DETAILS_CHARS:
                more["details_json"] = details
    return more


def _safe(error: ToolError) -> str:
    return (
        redact(valid_text(str(error)))[:_MAX_MESSAGE_CHARS] or "The tool failed without a message."
    )


def _cut(text: str) -> str:
    return redact_registered(valid_text(text[:_MAX_FIELD_CHARS]))
