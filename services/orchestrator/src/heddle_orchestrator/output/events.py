"""Applies an output policy to the events of a run."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any

from heddle.orchestrator.v1 import orchestrator_pb2 as pb

from heddle_orchestrator.output.hosts import OutputPolicy
from heddle_orchestrator.output.link_filter import LinkFilter, filtered

_TEXTS = ("text_delta", "reasoning_delta")
_TURN = 1_024
"""The number of characters that are filtered before other calls get a turn: about 1 ms."""
_ENDS_TEXT = ("done", "image", "tool_call")


class OutputFilter:
    """Filters the events of one run, whether a text comes in pieces or whole."""

    def __init__(self, policy: OutputPolicy) -> None:
        self._policy = policy
        self._filters = {name: LinkFilter(policy) for name in _TEXTS}

    async def events(self, events: Iterable[pb.RunEvent]) -> list[pb.RunEvent]:
        """Return the events to send. They are new: a sent message is not changed.

        Other calls have turns while a long text is filtered.
        """
        result: list[pb.RunEvent] = []
        for event in events:
            kind = event.WhichOneof("event")
            if kind in _TEXTS:
                text = getattr(event, kind)
                for start in range(0, len(text), _TURN):
                    if piece := self._filters[kind].feed(text[start : start + _TURN]):
                        result.append(_text_event(kind, piece))
                    if start:
                        await asyncio.sleep(0)
                continue
            if kind in _ENDS_TEXT:
                result += self._held()
            result.append(self._other(event))
        return result

    def _held(self) -> list[pb.RunEvent]:
        held = {name: each.finish() for name, each in self._filters.items()}
        self._filters = {name: LinkFilter(self._policy) for name in _TEXTS}
        return [_text_event(name, text) for name, text in held.items() if text]

    def _other(self, event: pb.RunEvent) -> pb.RunEvent:
        match event.WhichOneof("event"):
            case "sources":
                return self._sources(event)
            case "status" | "warning" | "output":
                return self._line(event)
            case _:
                return event

    def _sources(self, event: pb.RunEvent) -> pb.RunEvent:
        changed = pb.RunEvent()
        changed.CopyFrom(event)
        for source in changed.sources.sources:
            source.title = filtered(source.title, self._policy)
            source.excerpt = filtered(source.excerpt, self._policy)
            if filtered(f"<{source.uri}>", self._policy) != f"<{source.uri}>" and ":" in source.uri:
                source.uri = ""
        return changed

    def _line(self, event: pb.RunEvent) -> pb.RunEvent:
        changed = pb.RunEvent()
        changed.CopyFrom(event)
        if changed.HasField("status"):
            changed.status.message = filtered(changed.status.message, self._policy)
        elif changed.HasField("warning"):
            changed.warning = filtered(changed.warning, self._policy)
        else:
            changed.output.payload_json = _payload(changed.output.payload_json, self._policy)
        return changed


def _text_event(name: str, text: str) -> pb.RunEvent:
    event = pb.RunEvent()
    setattr(event, name, text)
    return event


def output_filter(hosts: str) -> OutputFilter | None:
    """Return the filter of a run, None if the answers may link anywhere.

    Args:
        hosts: As `heddle.assistant.v1.Assistant.output_hosts`.
    """
    policy = OutputPolicy.of(hosts) if hosts else None  # most have none
    return None if policy is None else OutputFilter(policy)


def filtered_answer(
    answer: AsyncGenerator[pb.RunCompletionResponse], hosts: str
) -> AsyncGenerator[pb.RunCompletionResponse]:
    """Return the events of one answer after a filter; see `output_filter`."""
    output = output_filter(hosts)
    # Without a filter there is no call for each piece of text.
    return answer if output is None else _filtered(answer, output)


async def _filtered(
    answer: AsyncGenerator[pb.RunCompletionResponse], output: OutputFilter
) -> AsyncGenerator[pb.RunCompletionResponse]:
    async with aclosing(answer) as responses:
        async for response in responses:
            if events := await output.events(response.events):
                yield pb.RunCompletionResponse(events=events)


def _payload(text: str, policy: OutputPolicy) -> str:
    return json.dumps(_value(json.loads(text), policy)) if text else text


def _value(value: Any, policy: OutputPolicy) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case str():
            return filtered(value, policy)
        case dict():
            return {name: _value(item, policy) for name, item in value.items()}
        case list():
            return [_value(item, policy) for item in value]
        case _:
            return value
