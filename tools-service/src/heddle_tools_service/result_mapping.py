"""From what a tool returns or raises to what the contract says."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import httpx
import structlog
from google.protobuf import duration_pb2
from google.protobuf.json_format import ParseError
from google.protobuf.struct_pb2 import Struct
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    ToolFailedError,
    UnavailableError,
)
from heddle_runtime.redaction import redact, redact_value
from heddle_runtime.struct_codec import to_struct

from heddle_tools_service.definitions import is_slot
from heddle_tools_service.sdk import FileChange, Source, ToolError, ToolResult, ToolUnavailableError

log = structlog.get_logger(__name__)
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


def phrase(message: str) -> str:
    """Return a status as people may see it: one line, without secrets, at most 300 characters."""
    shown = redact(_plain(" ".join(str(message)[: 2 * MAX_PHRASE_CHARS].split())))
    return shown if len(shown) <= MAX_PHRASE_CHARS else f"{shown[: MAX_PHRASE_CHARS - 1]}…"


def progress(message: str, change: FileChange | None = None) -> pb.ToolStatus:
    """Return a status on the wire."""
    if change is None:
        return pb.ToolStatus(message=phrase(message))
    message_change = pb.FileChange(
        path=_cut(change.path),
        reason=_cut(redact(change.reason)),
        line_start=change.first,
        line_end=change.last,
        diff=_plain(lines_within(change.diff, _MAX_DIFF_CHARS)),
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
    """Return what callers are told of an exception that ended a tool."""
    while isinstance(raised, BaseExceptionGroup):  # of a task group
        raised = raised.exceptions[0]
    match raised:
        case HeddleError():
            return raised
        case ToolUnavailableError():
            error: HeddleError = UnavailableError(_safe(raised), tool=tool)
            error.metadata |= _more(raised)
        case ToolError():
            error = ToolFailedError(_safe(raised), tool=tool)
            error.metadata |= _more(raised)
        case httpx.HTTPError():
            error = UnavailableError(
                f"What is behind the tool {tool!r} does not answer.", tool=tool
            )
        case TimeoutError():
            error = DeadlineError(f"The tool {tool!r} waited too long.", tool=tool)
        case _:
            log.error("tool failed", tool=tool, exc_info=raised)
            message = f"The tool {tool!r} failed. The cause is in the log, under the request id."
            error = HeddleError(message, tool=tool)
    return error


def result(tool_result: ToolResult, slot: str, own_slot: str, elapsed: float) -> pb.ToolResult:
    """Return a tool's result on the wire, cut to a size that others can bear."""
    warnings = [_cut(redact(warning)) for warning in tool_result.warnings]
    if tool_result.slot and not is_slot(tool_result.slot):
        warnings.append("The slot that the tool named cannot be one; its own was filled.")
        tool_result = replace(tool_result, slot="")
    text = tool_result.text
    if len(text) > MAX_TEXT_CHARS:
        warnings.append(f"The output was cut from {len(text):,} to {MAX_TEXT_CHARS:,} characters.")
        text = text[:MAX_TEXT_CHARS]
    metadata = _metadata(tool_result, warnings)
    sources = _sources(tool_result.sources[:_MAX_SOURCES], warnings)
    duration = duration_pb2.Duration()
    duration.FromTimedelta(timedelta(seconds=elapsed))
    return pb.ToolResult(
        parts=[chat_pb2.ContentPart(text=_plain(text))] if text else [],
        sources=sources,
        metadata=metadata,
        elapsed=duration,
        warnings=warnings[-_MAX_WARNINGS:],
        slot=slot or tool_result.slot or own_slot,
        name=_cut(tool_result.name),
        message=phrase(tool_result.message),
    )


def with_objects(message: pb.ToolResult, tool_result: ToolResult, tool: str) -> pb.ToolResult:
    """Add to a message the objects, which only the routing agent reads. Text alone is one object.

    Args:
        message: The result on the wire. Changed in place.
        tool_result: The result that the tool returned.
        tool: The tool's name.
    """
    warnings: list[str] = []
    message.objects_json.extend(_objects(tool_result.objects, warnings))
    message.warnings.extend(warnings)
    text = "".join(part.text for part in message.parts)
    if text.strip() and not message.objects_json:
        message.objects_json.append(json.dumps({"text": text}, ensure_ascii=False))
    message.name = message.name or tool
    return message


def _objects(objects: Iterable[object], warnings: list[str]) -> list[str]:
    """Return objects as JSON text; what is too much or no JSON is left out with a warning."""
    texts: list[str] = []
    size = wrong = more = 0
    for each in objects:
        try:
            text = _plain(json.dumps(each, ensure_ascii=False, allow_nan=False))
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
        metadata = to_struct(tool_result.metadata)
    except (ValueError, TypeError, ParseError, RecursionError):
        warnings.append("The tool's metadata is not plain JSON and was left out.")
        return Struct()
    if metadata.ByteSize() > _MAX_METADATA_BYTES:
        limit = f"{_MAX_METADATA_BYTES:,} bytes"
        warnings.append(f"The tool's metadata has more than {limit} and was left out.")
        return Struct()
    return metadata


def _sources(sources: Sequence[Source], warnings: list[str]) -> list[pb.Source]:
    """Return sources on the wire, the first of them, as far as there is room."""
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
    return pb.Source(
        title=_cut(source.title),
        uri=_cut(source.uri),
        excerpt=_cut(source.excerpt),
        score=source.score,
        kind=_cut(source.kind),
        attributes=dict(_attributes(source)),
    )


def _attributes(source: Source) -> Iterator[tuple[str, str]]:
    for name, value in source.attributes.items():
        yield _cut(str(name)), _cut(str(value))


def _more(error: ToolError) -> dict[str, str]:
    """Return what a failure tells besides its message, in the words of the contract."""
    more = {"kind": _cut(error.kind)} if error.kind else {}
    if error.details:
        try:
            details = _plain(json.dumps(redact_value(error.details), ensure_ascii=False))
        except (ValueError, TypeError, RecursionError):
            log.error("a tool's error has details that are no JSON", kind=error.kind)  # noqa: TRY400 - the tool is at fault
        else:
            if len(details) <= _MAX_DETAILS_CHARS:
                more["details_json"] = details
    return more


def _safe(error: ToolError) -> str:
    return redact(_plain(str(error)))[:_MAX_MESSAGE_CHARS] or "The tool gave up without a word."


def _cut(text: str) -> str:
    return _plain(text[:_MAX_FIELD_CHARS])


def _plain(text: str) -> str:
    """Return `text` as protobuf takes it: half of a surrogate pair is no character."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
