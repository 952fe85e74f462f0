"""Texts of a request to a model and of its answer, in the form of the conventions for spans."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from heddle_runtime.rpc.organization_settings import OrganizationSettings, may_trace_texts
from heddle_runtime.telemetry import content

from heddle_connector.generation.events import Done, Event, TextDelta, ToolCall

if TYPE_CHECKING:
    from heddle_connector.generation.call import Call

_INSTRUCTIONS = ("system", "developer")
_MAX_CHARACTERS = 2 * content.MAX_BYTES
"""The maximum length of an answer. Longer ones are cut anyway."""


async def traced_texts(call: "Call", settings: OrganizationSettings) -> "TracedTexts | None":
    """Add a request's texts to its span, and return the collector of the answer's, if allowed."""
    assistant = call.assistant
    organization, owner = (assistant.organization, assistant.owner) if assistant else ("", "")
    if not await may_trace_texts(settings, organization, owner):
        return None
    content.add(_request(call))
    return TracedTexts()


class TracedTexts:
    """Collects the texts of an answer."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._characters = 0
        self._calls: list[dict[str, Any]] = []
        self._reason = ""

    def take(self, events: Sequence[Event]) -> None:
        """Note the texts of events."""
        for event in events:
            match event:
                case TextDelta(text=text) if self._characters < _MAX_CHARACTERS:
                    self._pieces.append(text)
                    self._characters += len(text)
                case ToolCall():
                    self._calls.append(_call(event.id, event.name, event.arguments))
                case Done(finish_reason=reason):
                    self._reason = reason
                case _:
                    pass

    def end(self) -> None:
        """Add the answer to the current span."""
        text = "".join(self._pieces)
        parts = [*([_text(text)] if text else []), *self._calls]
        message = {"role": "assistant", "parts": parts, "finish_reason": self._reason}
        content.add({"gen_ai.output.messages": [message]})


def _request(call: "Call") -> Mapping[str, object]:
    messages = call.messages
    instructions = [each for each in messages if each.get("role") in _INSTRUCTIONS]
    others = [each for each in messages if each.get("role") not in _INSTRUCTIONS]
    return {
        "gen_ai.system_instructions": [part for each in instructions for part in _parts(each)],
        "gen_ai.input.messages": [
            {"role": each.get("role", ""), "parts": list(_parts(each))} for each in others
        ],
        "gen_ai.tool.definitions": [_plain(each) for each in call.functions],
    }


def _parts(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a message in OpenAI's form. Pictures and files have their kind only."""
    text = _plain(message.get("content"))
    if message.get("role") == "tool":
        yield {
            "type": "tool_call_response",
            "id": message.get("tool_call_id", ""),
            "response": text if isinstance(text, str) else list(_content(text)),
        }
        return
    yield from _content(text)
    for each in _plain(message.get("tool_calls")) or ():
        function = each.get("function", {})
        yield _call(each.get("id", ""), function.get("name", ""), function.get("arguments", ""))


def _content(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - any JSON value
    if isinstance(value, str) and value:
        yield _text(value)
    for part in value if isinstance(value, list) else ():
        kind = part.get("type", "") if isinstance(part, Mapping) else ""
        yield _text(part.get("text", "")) if kind == "text" else {"type": kind}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _call(identifier: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": identifier, "name": name, "arguments": arguments}


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value without `msgspec.Raw`, which holds the client's own text."""
    match value:
        case msgspec.Raw():
            return msgspec.json.decode(value)
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value
