"""Encodes run events as server-sent events: what the streams of all protocols have in common.

A protocol has a subclass with the frames of text, reasoning, calls, images and the end.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ModelReplaced, ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import (
    Decision,
    Output,
    RunEvent,
    Sources,
    Status,
    ToolFinished,
    ToolStarted,
    Trace,
)
from heddle.tool.v1.tool_pb2 import Source
from heddle_runtime.telemetry import log_fields

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.chat.run_report import RunReport, trace_event
from heddle_gateway.settings import EventView

_encode = msgspec.json.encode
# JSON needs no escapes for these, but some clients split lines at them.
_LINE_BREAKS = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)
# Before these the progress ends.
_CONTENT = frozenset({"reasoning_delta", "tool_call", "image", "done"})


class Answer(msgspec.Struct, frozen=True):
    """What the answer to a request depends on beside the request's body."""

    request_id: str
    view: EventView = "auto"
    link: run_events.Link = run_events.image_path
    index: int = 0
    """The position among the answers to the request."""


def escaped(text: str) -> bytes:
    """Return `text` as a JSON string without any line break."""
    encoded = _encode(text)
    return encoded if text.isascii() else one_line(encoded)


def one_line(json: bytes) -> bytes:
    """Return JSON text without any line break."""
    for character, escape in _LINE_BREAKS:
        json = json.replace(character, escape)
    return json


def _run_id(event: ToolStarted | ToolFinished) -> tuple[str, str]:
    return event.binding_id, event.call.id


class Encoder(ABC):
    """What writes the response to a request from the events of its run."""

    report: RunReport

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether the run has ended."""

    @property
    @abstractmethod
    def tools_ran(self) -> bool:
        """Whether another attempt would run tools again."""

    @abstractmethod
    def encode(self, events: Iterable[RunEvent]) -> bytes:
        """Return the frames of events that arrived together. Unknown kinds are skipped."""

    def end(self) -> bytes:
        """Return the frames that follow when a complete answer is stored."""
        return b""

    def body(self) -> bytes:
        """Return an answer that is not streamed as JSON."""
        raise NotImplementedError

    @abstractmethod
    def failure(self, error: ErrorResponse) -> bytes:
        """Return the frames that end a stream which failed."""


class EventEncoder(Encoder):
    """Turns batches of events into frames."""

    def __init__(self, answer: Answer, *, trace: bool, streamed: bool = True) -> None:
        """Begin an answer.

        Args:
            answer: What it depends on beside the request's body.
            trace: Whether the client wants the trace of the run.
            streamed: Whether it has frames; `body` has one that is not streamed.
        """
        self.done: Done | None = None
        """The end of the run; None before."""
        self.report = RunReport(answer.request_id)
        self._answer = answer
        self._view = answer.view
        self._trace = trace
        self._streamed = streamed
        self._calls: list[ToolCall] = []
        self._events: list[dict[str, Any]] = []
        """For clients that know Heddle."""
        self._opening = b""
        """The frames before the first one; empty after they are sent."""
        self._texts: list[str] = []
        self._sources: list[Source] = []
        self._have_run = False
        self._running: set[tuple[str, str]] = set()
        self._started: list[str] = []
        self._names: dict[str, str] = {}
        self._line = ""

    @property
    def finished(self) -> bool:
        """Whether the run has ended."""
        return self.done is not None

    @property
    def tools_ran(self) -> bool:
        """Whether another attempt would run tools again."""
        return self._have_run or bool(self._running)

    def encode(self, events: Iterable[RunEvent]) -> bytes:
        """Return the frames of events that arrived together. Unknown kinds are skipped."""
        frames: list[bytes] = []
        for event in events:
            kind = event.WhichOneof("event")
            if kind == "text_delta":
                self._texts.append(event.text_delta)
                continue
            if kind == "tool_started":
                if self._texts:  # they precede it
                    self._flush(frames)
                self._running.add(_run_id(event.tool_started))
                self._started.append(self._tool_name(event.tool_started))
                frames.append(self._tool_began(event.tool_started))
                continue
            if kind == "logprobs_json":
                self._flush(frames, event.logprobs_json)
                continue
            self._flush(frames)
            if kind is not None and (writer := self._WRITERS.get(kind)) is not None:
                if self._line and kind in _CONTENT:
                    frames.append(self._end_progress())
                frames.append(getattr(self, writer)(getattr(event, kind)))
        self._flush(frames)
        encoded = b"".join(frames)
        return self._opened(encoded) if encoded and self._opening else encoded

    def join(self, first: "EventEncoder") -> None:
        """Write another answer to the request of `first`, which has what they have in common."""
        self.report, self._sources = first.report, first._sources  # noqa: SLF001 - of the same class

    @abstractmethod
    def _text(self, text: str, logprobs_json: str) -> bytes:
        """Return a piece of the text, with its log probabilities if there are some."""

    @abstractmethod
    def _note(self, members: bytes) -> bytes:
        """Return a frame without content that has more members: `,"name":value`."""

    @abstractmethod
    def _reasoning(self, text: str, more: bytes = b"") -> bytes:
        """Return a piece of the reasoning, with more members."""

    @abstractmethod
    def _call(self, call: ToolCall) -> bytes:
        """Return the call of a client's function, the last of `_calls`."""

    @abstractmethod
    def _image(self, image: GeneratedImage) -> bytes:
        """Return a generated image."""

    @abstractmethod
    def _done(self, done: Done) -> bytes:
        """Return the frames that end a complete stream."""

    def _tool_began(self, started: ToolStarted) -> bytes:
        """Return the frames of a tool's start beside the progress."""
        return b""

    def _tool_ended(self, finished: ToolFinished) -> bytes:
        """Return the frames of a tool's end beside the progress."""
        return b""

    def _extension(self, event: dict[str, Any]) -> bytes:
        """Return an event for clients that know Heddle, as a member of a frame."""
        self._events.append(event)
        return b',"heddle":' + one_line(_encode(event))

    def _heddle(self) -> list[dict[str, Any]]:
        """Return all events for clients that know Heddle, the report last."""
        is_quiet = self._view == "none"
        events = [each for each in self._events if not is_quiet or each["type"] == "trace"]
        report = self.report.event(problems_only=is_quiet)
        return [*events, report] if report else events

    def _cited(self) -> Sequence[Source]:
        """Return the sources to cite; Open WebUI shows them by events."""
        return self._sources if self._view != "openwebui" else ()

    def _opened(self, frames: bytes) -> bytes:
        """Return frames after those that open the stream, if these are not sent yet."""
        opening, self._opening = self._opening, b""
        return opening + frames

    def _flush(self, frames: list[bytes], logprobs_json: str = "") -> None:
        """Add the frames of what is collected."""
        if self._started:
            frames.append(self._encode_started())
        if self._texts or logprobs_json:
            text = "".join(self._texts)
            self._texts.clear()
            if self._line:
                frames.append(self._end_progress())
            frames.append(self._text(text, logprobs_json))

    def _encode_started(self) -> bytes:
        names = ", ".join(self._started)
        self._started.clear()
        return self._progress("run", f"running {names}")

    def _event(self, event: bytes, more: bytes = b"") -> bytes:
        return self._note(b',"event":' + one_line(event) + more)

    def _progress(self, about: str, description: str, more: bytes = b"") -> bytes:
        if self._view == "none":
            return b""
        if self._view == "reasoning":
            return self._reasoning(f"{description}\n", more)
        self._line = description
        return self._event(run_events.status(f"heddle.{about}", description, done=False), more)

    def _end_progress(self) -> bytes:
        """Return the frame that ends the progress, if there was some: it would stay animated."""
        if not self._line:
            return b""
        summary = self.report.summary()
        line, self._line = self._line, ""
        return self._event(
            run_events.status("heddle.run", summary or line, done=True, hidden=not summary)
        )

    def _tool_name(self, event: ToolStarted | ToolFinished) -> str:
        """Return the name of a tool, and store it for later events of its run."""
        # By the call first: one binding can offer several functions.
        name = run_events.tool_name(event)
        for identifier in filter(None, (event.call.id, event.binding_id)):
            self._names[identifier] = name
        return name

    def _status(self, status: Status) -> bytes:
        known = self._names.get(status.call_id) or self._names.get(status.binding_id)
        about = known or status.binding_id or "run"
        if not status.HasField("change"):
            return self._progress(about, status.message)
        change = one_line(_encode(run_events.file_change(about, status)))
        return self._progress(about, status.message, b',"heddle":' + change)

    def _decision(self, event: Decision) -> bytes:
        more = self._extension(run_events.decision(event))
        return self._progress("agent", run_events.decision_text(event), more)

    def _output(self, event: Output) -> bytes:
        if self._view == "none":
            return b""
        return self._note(self._extension(run_events.output(event)))

    def _run_trace(self, event: Trace) -> bytes:
        if not self._trace:  # of a verbose assistant
            return b""
        return self._note(self._extension(trace_event(event)))

    def _model_replaced(self, event: ModelReplaced) -> bytes:
        return self._progress("model", self.report.add_replacement(event))

    def _warning(self, text: str) -> bytes:
        if not self.report.add_warning(text) or self._view == "none":
            return b""
        if self._view == "reasoning":
            return self._reasoning(f"{text}\n")
        # Done at once: the line stays when the progress ends.
        status = run_events.status("heddle.warning", text, done=True)
        return self._end_progress() + self._event(status)

    def _tool_finished(self, finished: ToolFinished) -> bytes:
        self._running.discard(_run_id(finished))
        self._have_run |= finished.HasField("elapsed")
        name = self._tool_name(finished)
        lines = self.report.add_tool(finished)
        progress = b"".join(self._progress(name, line) for line in lines)
        return progress + self._tool_ended(finished)

    def _tool_sources(self, event: Sources) -> bytes:
        self._have_run = True
        self._sources.extend(event.sources)
        if self._view in ("reasoning", "none") or not event.sources:
            return b""
        name = self._names.get(event.binding_id) or event.binding_id
        return self._event(run_events.source(event.binding_id, name, event.sources))

    def _tool_call(self, call: ToolCall) -> bytes:
        self._calls.append(call)
        return self._call(call)

    def _end(self, done: Done) -> bytes:
        self.done = done
        log_fields.add_model(done.model)
        return self._done(done)

    _WRITERS: ClassVar[dict[str, str]] = {
        "reasoning_delta": "_reasoning",
        "status": "_status",
        "decision": "_decision",
        "output": "_output",
        "model_replaced": "_model_replaced",
        "warning": "_warning",
        "tool_finished": "_tool_finished",
        "sources": "_tool_sources",
        "tool_call": "_tool_call",
        "image": "_image",
        "trace": "_run_trace",
        "done": "_end",
    }
