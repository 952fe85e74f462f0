"""Run events as one whole chat completion."""

from collections.abc import Iterable
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import Done, ModelReplaced, Picture, ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent, Sources

from heddle_gateway.openai.chat import open_webui_events, run_events
from heddle_gateway.settings import EventView


class Answer:
    """Collects what becomes the answer."""

    def __init__(self, link: run_events.Link = run_events.here) -> None:
        self.pictures: list[Picture] = []
        self.tools_ran = False
        """Whether a repetition of the request would run tools again."""
        self.done: Done | None = None
        self.replaced: ModelReplaced | None = None
        """Which model could not answer, if another one did."""
        self._link = link
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._names: dict[str, str] = {}
        self._sources: list[Sources] = []
        self._routed: list[dict[str, Any]] = []
        self._logprobs: dict[str, Any] | None = None

    def take(self, events: Iterable[RunEvent]) -> None:
        """Add events. Kinds that do not show in a whole answer, or are not known, are skipped."""
        for event in events:
            match event.WhichOneof("event"):
                case "text_delta" | "reasoning_delta" | "picture":
                    self._say(event)
                case "tool_call":
                    self._calls.append(event.tool_call)
                case "tool_finished":
                    self.tools_ran = True
                    finished = event.tool_finished
                    self._names[finished.binding_id] = run_events.tool_name(finished)
                case "sources":
                    self.tools_ran = True
                    self._sources.append(event.sources)
                case "logprobs_json":
                    self._logprobs = _joined(self._logprobs, event.logprobs_json)
                case "decision" | "output":
                    self._routed.append(run_events.routed(event))
                case "model_replaced":
                    self.replaced = event.model_replaced
                case "done":
                    self.done = event.done
                case _:
                    continue

    def body(self, identifier: str, created: int, model: str, view: EventView) -> bytes:
        """Return the completion, with as much of what came beside it as a client wants to see."""
        done = self.done or Done()
        answer: dict[str, Any] = {
            "id": identifier,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "message": self._message(),
                    "logprobs": self._logprobs,
                    "finish_reason": run_events.finish_reason(done, len(self._calls)),
                }
            ],
            "usage": run_events.usage(done.usage),
        }
        if told := done.provider_metadata_json:
            answer |= run_events.provider_metadata(told)
        if view != "none" and self._routed:
            answer["heddle"] = self._routed
        if view == "openwebui" and self._sources:
            answer["sources"] = [
                open_webui_events.group(
                    found.binding_id,
                    self._names.get(found.binding_id) or found.binding_id,
                    found.sources,
                )
                for found in self._sources
            ]
        return msgspec.json.encode(answer)

    def _say(self, event: RunEvent) -> None:
        if event.HasField("reasoning_delta"):
            self._reasoning.append(event.reasoning_delta)
            return
        if not event.HasField("picture"):
            self._texts.append(event.text_delta)
            return
        self.pictures.append(event.picture)
        self._texts.append(run_events.picture_link(event.picture, self._link))

    @property
    def text(self) -> str:
        """What the model says, pictures as Markdown."""
        return "".join(self._texts)

    def _message(self) -> dict[str, Any]:
        text = self.text
        message: dict[str, Any] = {
            "role": "assistant",
            "content": text if text or not self._calls else None,
            "refusal": None,
        }
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if self.pictures:
            message["images"] = [run_events.picture(picture) for picture in self.pictures]
        if self._calls:
            message["tool_calls"] = [run_events.tool_call(call) for call in self._calls]
        if self.done is not None:
            message |= run_events.message_extra(self.done, len(self._calls))
        if self._sources:
            all_sources = [item for found in self._sources for item in found.sources]
            if cited := open_webui_events.annotations(all_sources):
                message["annotations"] = cited
        return message


def _joined(known: dict[str, Any] | None, more_json: str) -> dict[str, Any] | None:
    """Return log probabilities with the lists of a later piece appended."""
    more = run_events.members(more_json)
    if known is None or not more:
        return more or known
    for name, values in more.items():
        if isinstance(values, list) and isinstance(known.get(name), list):
            known[name] = [*known[name], *values]
        else:
            known.setdefault(name, values)
    return known
