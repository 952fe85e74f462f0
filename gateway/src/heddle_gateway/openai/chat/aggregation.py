"""Collects run events into a chat completion that is not streamed."""

from collections.abc import Iterable
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent, Sources, Trace
from heddle_runtime.contract.json_text import members
from heddle_runtime.telemetry import log_fields

from heddle_gateway.openai.chat import open_webui_events, run_events
from heddle_gateway.openai.chat.citations import annotations
from heddle_gateway.openai.chat.run_report import RunReport
from heddle_gateway.openai.chat.traces import trace_event
from heddle_gateway.settings import EventView


class Completion:
    """Collects the events of a run."""

    def __init__(
        self,
        request_id: str,
        link: run_events.Link = run_events.image_path,
        *,
        legacy: bool = False,
        trace: bool = False,
    ) -> None:
        """Create an empty completion.

        Args:
            request_id: The id of the request.
            link: Returns the address of an image.
            legacy: Whether a call is returned in OpenAI's older form.
            trace: Whether the client wants the trace of the run.
        """
        self.images: list[GeneratedImage] = []
        self.report = RunReport(request_id)
        self.tools_ran = False
        """Whether another attempt would run tools again."""
        self.done: Done | None = None
        self._link = link
        self._legacy = legacy
        self._wants_trace = trace
        self._trace: Trace | None = None
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._names: dict[str, str] = {}
        self._sources: list[Sources] = []
        self._routed: list[dict[str, Any]] = []
        self._logprobs: dict[str, Any] | None = None

    def add(self, events: Iterable[RunEvent]) -> None:
        """Add events. Unknown kinds, and kinds that only streams show, are skipped."""
        for event in events:
            match event.WhichOneof("event"):
                case "text_delta" | "reasoning_delta" | "image":
                    self._add_content(event)
                case "tool_call":
                    self._add_call(event.tool_call)
                case "tool_finished" | "sources":
                    self._add_tool(event)
                case "logprobs_json":
                    self._logprobs = _joined(self._logprobs, event.logprobs_json)
                case "decision" | "output" | "trace":
                    self._add_extension(event)
                case "model_replaced":
                    self.report.add_replacement(event.model_replaced)
                case "warning":
                    self.report.add_warning(event.warning)
                case "done":
                    self.done = event.done
                    log_fields.add_model(event.done.model)
                case _:
                    continue

    def body(self, identifier: str, created: int, model: str, view: EventView) -> bytes:
        """Return the completion as JSON, with the extensions of `view`."""
        done = self.done or Done()
        completion: dict[str, Any] = {
            "id": identifier,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "message": self._message(),
                    "logprobs": self._logprobs,
                    "finish_reason": self._finish_reason(done),
                }
            ],
            "usage": run_events.usage(done.usage),
        }
        if metadata := done.provider_metadata_json:
            completion |= run_events.provider_metadata(metadata)
        if heddle := self._extension(view):
            completion["heddle"] = heddle
        if view in ("auto", "openwebui") and self._sources:
            completion["sources"] = [
                open_webui_events.group(
                    group.binding_id,
                    self._names.get(group.binding_id) or group.binding_id,
                    group.sources,
                )
                for group in self._sources
            ]
        return msgspec.json.encode(completion)

    def _finish_reason(self, done: Done) -> str:
        return run_events.finish_reason(done, len(self._calls), legacy=self._legacy)

    def _extension(self, view: EventView) -> list[dict[str, Any]]:
        routed = self._routed if view != "none" else []
        if self._trace is not None:
            routed = [*routed, trace_event(self._trace)]
        report = self.report.event(problems_only=view == "none")
        return [*routed, report] if report else routed

    def _add_extension(self, event: RunEvent) -> None:
        if not event.HasField("trace"):
            self._routed.append(run_events.agent_event(event))
        elif self._wants_trace:  # else that of a verbose assistant
            self._trace = event.trace

    def _add_call(self, call: ToolCall) -> None:
        if self._legacy and self._calls:
            self.report.add_warning(run_events.ONE_CALL)
        else:
            self._calls.append(call)

    def _add_tool(self, event: RunEvent) -> None:
        finished = event.tool_finished
        self.tools_ran |= event.HasField("sources") or finished.HasField("elapsed")
        if event.HasField("sources"):
            self._sources.append(event.sources)
            return
        self._names[finished.binding_id] = run_events.tool_name(finished)
        self.report.add_tool(finished)

    def _add_content(self, event: RunEvent) -> None:
        if event.HasField("reasoning_delta"):
            self._reasoning.append(event.reasoning_delta)
            return
        if not event.HasField("image"):
            self._texts.append(event.text_delta)
            return
        self.images.append(event.image)
        self._texts.append(run_events.image_link(event.image, self._link))

    @property
    def text(self) -> str:
        """The text of the completion, with images as Markdown."""
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
        if self.images:
            message["images"] = [run_events.image_part(image) for image in self.images]
        if self._calls and self._legacy:
            message["function_call"] = run_events.function_call(self._calls[0])
        elif self._calls:
            message["tool_calls"] = [run_events.tool_call(call) for call in self._calls]
        if self.done is not None:
            message |= run_events.message_extra(self.done, len(self._calls))
        if self._sources:
            all_sources = [item for group in self._sources for item in group.sources]
            if cited := annotations(all_sources):
                message["annotations"] = cited
        return message


def _joined(known: dict[str, Any] | None, more_json: str) -> dict[str, Any] | None:
    """Return log probabilities with the lists of a later piece appended."""
    more = members(more_json)
    if known is None or not more:
        return more or known
    for name, values in more.items():
        if isinstance(values, list) and isinstance(known.get(name), list):
            known[name] = [*known[name], *values]
        else:
            known.setdefault(name, values)
    return known
