"""Collects run events into a chat completion that is not streamed."""

from collections.abc import Sequence
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import Sources
from heddle.tool.v1.tool_pb2 import Source
from heddle_runtime.contract.json_text import members

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.openai.chat import open_webui_events, run_events
from heddle_gateway.openai.chat.citations import annotations
from heddle_gateway.openai.chat.event_encoder import Answer, EventEncoder


class Completion(EventEncoder):
    """Collects the events of a run. What only streams show is left out."""

    OBJECT = "chat.completion"

    def __init__(
        self,
        answer: Answer,
        identifier: str = "",
        created: int = 0,
        model: str = "",
        *,
        legacy: bool = False,
        trace: bool = False,
    ) -> None:
        super().__init__(answer, trace=trace, streamed=False)
        self.images: list[GeneratedImage] = []
        self._about = {
            "id": identifier,
            "object": self.OBJECT,
            "created": created,
            "model": model,
        }
        self._legacy = legacy
        self._written: list[str] = []
        self._thoughts: list[str] = []
        self._groups: list[Sources] = []
        self._logprobs: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The text of the completion, with images as Markdown."""
        return "".join(self._written)

    @property
    def sources(self) -> Sequence[Source]:
        """What the tools found."""
        return self._sources

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls that the client must answer."""
        return self._calls

    def body(self) -> bytes:
        """Return the completion as JSON."""
        return msgspec.json.encode(self.completion())

    def completion(self) -> dict[str, Any]:
        """Return the completion."""
        done = self.done or Done()
        choice = {
            "index": self._answer.index,
            **self._content(done),
            "logprobs": self._logprobs,
            "finish_reason": run_events.finish_reason(done, len(self._calls), legacy=self._legacy),
        }
        completion = {**self._about, "choices": [choice], "usage": run_events.usage(done.usage)}
        if metadata := done.provider_metadata_json:
            completion |= run_events.provider_metadata(metadata)
        if heddle := self._heddle():
            completion["heddle"] = heddle
        if self._view in ("auto", "openwebui") and self._groups:
            completion["sources"] = [
                open_webui_events.group(
                    group.binding_id,
                    self._names.get(group.binding_id) or group.binding_id,
                    group.sources,
                )
                for group in self._groups
            ]
        return completion

    def failure(self, error: ErrorResponse) -> bytes:
        """Return no frames."""
        return b""

    def _content(self, done: Done) -> dict[str, Any]:
        return {"message": self._message(done)}

    def _message(self, done: Done) -> dict[str, Any]:
        text, calls = self.text, self._calls
        message: dict[str, Any] = {
            "role": "assistant",
            "content": text if text or not calls else None,
            "refusal": None,
        }
        if self._thoughts:
            message["reasoning_content"] = "".join(self._thoughts)
        if self.images:
            message["images"] = [run_events.image_part(image) for image in self.images]
        if calls and self._legacy:
            message["function_call"] = run_events.function_call(calls[0])
        elif calls:
            message["tool_calls"] = [run_events.tool_call(call) for call in calls]
        message |= run_events.message_extra(done, len(calls))
        if cited := annotations(self._sources):
            message["annotations"] = cited
        return message

    def _text(self, text: str, logprobs_json: str) -> bytes:
        self._written.append(text)
        if logprobs_json:
            self._logprobs = _joined(self._logprobs, logprobs_json)
        return b""

    def _reasoning(self, text: str, more: bytes = b"") -> bytes:
        self._thoughts.append(text)
        return b""

    def _image(self, image: GeneratedImage) -> bytes:
        self.images.append(image)
        self._written.append(run_events.image_link(image, self._answer.link))
        return b""

    def _call(self, call: ToolCall) -> bytes:
        return self._warning(run_events.ONE_CALL) if self._legacy and self._calls[1:] else b""

    def _tool_sources(self, event: Sources) -> bytes:
        self._have_run = True
        self._groups.append(event)
        self._sources.extend(event.sources)
        return b""

    def _warning(self, text: str) -> bytes:
        self.report.add_warning(text)
        return b""

    def _progress(self, about: str, description: str, more: bytes = b"") -> bytes:
        return b""

    def _note(self, members: bytes) -> bytes:
        return b""

    def _done(self, done: Done) -> bytes:
        return b""


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
