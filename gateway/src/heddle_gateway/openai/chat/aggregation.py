"""Collects run events into a chat completion that is not streamed."""

from collections.abc import Sequence
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import Sources
from heddle.tool.v1.tool_pb2 import Source
from heddle_runtime.contract.json_text import members

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.chat.event_encoder import Answer, EventEncoder, escaped, one_line
from heddle_gateway.openai.chat.run_events import annotations

END = b"data: [DONE]\n\n"
_encode = msgspec.json.encode


def failure(error: ErrorResponse) -> bytes:
    """Return the frames that end a stream which failed."""
    # SDKs raise at the error and stop reading; other clients wait for the end.
    return b"data: " + one_line(error.json()) + b"\n\n" + END


class StreamEncoder(EventEncoder):
    """Turns batches of events into chunks of a completion.

    All that the frames of one answer have in common is written once; a piece of text is put
    between two byte strings.
    """

    OBJECT = b"chat.completion.chunk"
    CONTENT = b"delta"

    def __init__(
        self,
        identifier: str,
        created: int,
        model: str,
        answer: Answer,
        *,
        usage: bool,
        trace: bool = False,
        legacy: bool = False,
    ) -> None:
        super().__init__(answer, trace=trace)
        self._usage = usage
        self._legacy = legacy
        self._envelope = b'data: {"id":%b,"object":"%b","created":%d,"model":%b,"choices":[' % (
            _encode(identifier),
            self.OBJECT,
            created,
            escaped(model),
        )
        self._head = self._envelope + b'{"index":%d,"%b":' % (answer.index, self.CONTENT)
        self._close = b',"usage":null}\n\n' if usage else b"}\n\n"
        self._tail = b',"logprobs":null,"finish_reason":null}]' + self._close
        self._text_head = self._head + b'{"content":'
        self._text_tail = b"}" + self._tail
        self._opening = self._chunk(b'{"role":"assistant","content":"","refusal":null}')

    def failure(self, error: ErrorResponse) -> bytes:
        """Return the frames that end a stream which failed."""
        return self._end_progress() + failure(error)

    def end(self) -> bytes:
        """Return the frames that end a complete stream."""
        usage = b""
        if self._usage and self.done is not None:
            counts = _encode(run_events.usage(self.done.usage))
            usage = self._envelope + b'],"usage":%b}\n\n' % counts
        return usage + END

    def _text(self, text: str, logprobs_json: str) -> bytes:
        if not logprobs_json:
            return self._text_head + escaped(text) + self._text_tail
        logprobs = one_line(_encode(members(logprobs_json) or None))
        rest = b'},"logprobs":%b,"finish_reason":null}]' % logprobs
        return self._text_head + escaped(text) + rest + self._close

    def _chunk(self, delta: bytes, more: bytes = b"") -> bytes:
        """Return a chunk with `delta`, and `more` members beside its choices."""
        rest = b',"logprobs":null,"finish_reason":null}]'
        return b"".join((self._head, delta, rest, more, self._close))

    def _note(self, members: bytes) -> bytes:
        # Each has a role because some client libraries drop unknown members of chunks without
        # one.
        return self._chunk(b'{"role":"assistant","content":""}', members)

    def _reasoning(self, text: str, more: bytes = b"") -> bytes:
        return self._chunk(b'{"reasoning_content":%b}' % escaped(text), more)

    def _call(self, call: ToolCall) -> bytes:
        index = len(self._calls) - 1
        if not self._legacy:
            delta: dict[str, Any] = {"tool_calls": [{"index": index, **run_events.tool_call(call)}]}
        elif index:
            return self._warning(run_events.ONE_CALL)
        else:
            delta = {"function_call": run_events.function_call(call)}
        return self._chunk(one_line(_encode(delta)))

    def _image(self, image: GeneratedImage) -> bytes:
        # Open WebUI shows the image from `images`.
        is_shown = self._view == "openwebui"
        text = run_events.image_reference if is_shown else run_events.image_link
        delta = {
            "content": text(image, self._answer.link),
            "images": [run_events.image_part(image)],
        }
        return self._chunk(_encode(delta))  # ASCII: without line breaks

    def _done(self, done: Done) -> bytes:
        delta = run_events.message_extra(done, len(self._calls))
        if cited := annotations(self._cited()):
            delta["annotations"] = cited
        more = b"".join(
            b",%b:%b" % (_encode(name), escaped(value))
            for name, value in run_events.provider_metadata(done.provider_metadata_json).items()
        )
        if not self._answer.index and (
            report := self.report.event(problems_only=self._view == "none")
        ):
            more += self._extension(report)
        return b"".join(
            (
                self._head,
                self._last(delta),
                b',"logprobs":null,"finish_reason":"%b"}]'
                % run_events.finish_reason(done, len(self._calls), legacy=self._legacy).encode(),
                more,
                self._close,
            )
        )

    def _last(self, delta: dict[str, Any]) -> bytes:
        """Return the content of the last chunk."""
        return one_line(_encode(delta)) if delta else b"{}"


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
                run_events.group(
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
