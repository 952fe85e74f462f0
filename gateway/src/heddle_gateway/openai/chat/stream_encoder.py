"""Encodes run events as the server-sent events of a streamed chat completion."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import msgspec
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle.tool.v1.tool_pb2 import Source
from heddle_runtime.contract.json_text import members
from heddle_runtime.telemetry import log_fields

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.openai.chat import open_webui_events, run_events
from heddle_gateway.openai.chat.run_report import RunReport
from heddle_gateway.openai.chat.traces import trace_event
from heddle_gateway.settings import EventView

END = b"data: [DONE]\n\n"
_encode = msgspec.json.encode
# JSON needs no escapes for these, but some clients split lines at them.
_LINE_BREAKS = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


def escaped(text: str) -> bytes:
    """Return `text` as a JSON string without any line break."""
    encoded = _encode(text)
    return encoded if text.isascii() else one_line(encoded)


def one_line(json: bytes) -> bytes:
    """Return JSON text without any line break."""
    for character, escape in _LINE_BREAKS:
        json = json.replace(character, escape)
    return json


def failure(error: ErrorResponse) -> bytes:
    """Return the frames that end a stream which failed."""
    # SDKs raise at the error and stop reading; other clients wait for the end.
    return b"data: " + one_line(error.json()) + b"\n\n" + END


def _run_id(event: Any) -> tuple[str, str]:  # noqa: ANN401 - the start or the end of a tool
    return event.binding_id, event.call.id


class StreamEncoder:
    """Turns batches of events into frames.

    All that the frames of one answer have in common is written once; a piece of text is put
    between two byte strings.
    """

    def __init__(  # noqa: PLR0913 - each is a part of the answer's form
        self,
        identifier: str,
        created: int,
        model: str,
        view: EventView,
        request_id: str,
        *,
        usage: bool,
        trace: bool = False,
        link: run_events.Link = run_events.image_path,
        legacy: bool = False,
    ) -> None:
        self.finished = False
        """Whether `done` was among the events."""
        self._have_run = False
        self._running: set[tuple[str, str]] = set()
        self._view = view
        self._report = RunReport(request_id)
        self._usage = usage
        self._trace = trace
        self._link = link
        self._legacy = legacy
        self._envelope = (
            b'data: {"id":%b,"object":"chat.completion.chunk","created":%d,"model":%b,"choices":['
            % (_encode(identifier), created, escaped(model))
        )
        self._head = self._envelope + b'{"index":0,"delta":'
        self._close = b',"usage":null}\n\n' if usage else b"}\n\n"
        self._tail = b',"logprobs":null,"finish_reason":null}]' + self._close
        self._text_head = self._head + b'{"content":'
        self._text_tail = b"}" + self._tail
        self._opening = self._chunk(b'{"role":"assistant","content":"","refusal":null}')
        self._texts: list[str] = []
        self._started: list[str] = []
        self._names: dict[str, str] = {}
        self._line = ""
        self._sources: list[Source] = []
        self._calls = 0

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
                continue
            if kind == "logprobs_json":
                if self._started:
                    frames.append(self._encode_started())
                frames.append(self._text(event.logprobs_json))
                continue
            self._flush(frames)
            if kind is not None and (write := self._WRITERS.get(kind)) is not None:
                frames.append(write(self, getattr(event, kind)))
        self._flush(frames)
        encoded = b"".join(frames)
        if encoded and self._opening:
            encoded, self._opening = self._opening + encoded, b""
        return encoded

    def failure(self, error: ErrorResponse) -> bytes:
        """Return the frames that end a stream which failed."""
        return self._end_progress() + failure(error)

    def _flush(self, frames: list[bytes]) -> None:
        if self._started:
            frames.append(self._encode_started())
        if self._texts:
            frames.append(self._text(""))

    def _encode_started(self) -> bytes:
        names = ", ".join(self._started)
        self._started.clear()
        return self._progress("run", f"running {names}")

    def _text(self, logprobs_json: str) -> bytes:
        """Return the collected text, with its log probabilities if there are some."""
        text = "".join(self._texts)
        self._texts.clear()
        line = self._end_progress() if self._line else b""
        if not logprobs_json:
            return line + self._text_head + escaped(text) + self._text_tail
        logprobs = one_line(_encode(members(logprobs_json) or None))
        return (
            line
            + self._text_head
            + escaped(text)
            + b'},"logprobs":%b,"finish_reason":null}]' % logprobs
            + self._close
        )

    def _chunk(self, delta: bytes, more: bytes = b"") -> bytes:
        """Return a chunk with `delta`, and `more` members beside its choices."""
        rest = b',"logprobs":null,"finish_reason":null}]'
        return b"".join((self._head, delta, rest, more, self._close))

    def _event(self, event: bytes, more: bytes = b"") -> bytes:
        # Each has a role because some client libraries drop unknown members of chunks without
        # one.
        delta = b'{"role":"assistant","content":""}'
        return self._chunk(delta, b',"event":' + one_line(event) + more)

    def _progress(self, about: str, description: str, more: bytes = b"") -> bytes:
        if self._view == "none":
            return b""
        if self._view == "reasoning":
            return self._reasoning(f"{description}\n", more)
        self._line = description
        return self._event(
            open_webui_events.status(f"heddle.{about}", description, done=False), more
        )

    def _end_progress(self) -> bytes:
        """Return the frame that ends the progress, if there was some: it would stay animated."""
        if not self._line:
            return b""
        summary = self._report.summary()
        line, self._line = self._line, ""
        return self._event(
            open_webui_events.status("heddle.run", summary or line, done=True, hidden=not summary)
        )

    def _reasoning(self, text: str, more: bytes = b"") -> bytes:
        return self._end_progress() + self._chunk(b'{"reasoning_content":%b}' % escaped(text), more)

    def _tool_name(self, event: Any) -> str:  # noqa: ANN401 - the start or the end of a tool's run
        """Return the name of a tool, and store it for later events of its run."""
        # By the call first: one binding can offer several functions.
        name = run_events.tool_name(event)
        for identifier in filter(None, (event.call.id, event.binding_id)):
            self._names[identifier] = name
        return name

    def _status(self, status: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        known = self._names.get(status.call_id) or self._names.get(status.binding_id)
        about = known or status.binding_id or "run"
        if not status.HasField("change"):
            return self._progress(about, status.message)
        change = _encode(run_events.file_change(about, status))
        return self._progress(about, status.message, b',"heddle":' + one_line(change))

    def _decision(self, event: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        more = b',"heddle":' + one_line(_encode(run_events.decision(event)))
        return self._progress("agent", run_events.decision_text(event), more)

    def _output(self, event: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        if self._view == "none":
            return b""
        more = b',"heddle":' + one_line(_encode(run_events.output(event)))
        return self._chunk(b'{"role":"assistant","content":""}', more)

    def _run_trace(self, event: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        if not self._trace:  # of a verbose assistant
            return b""
        more = b',"heddle":' + one_line(_encode(trace_event(event)))
        return self._chunk(b'{"role":"assistant","content":""}', more)

    def _model_replaced(self, event: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        return self._progress("model", self._report.add_replacement(event))

    def _warning(self, text: str) -> bytes:
        if not self._report.add_warning(text) or self._view == "none":
            return b""
        if self._view == "reasoning":
            return self._reasoning(f"{text}\n")
        # Done at once: the line stays when the progress ends.
        status = open_webui_events.status("heddle.warning", text, done=True)
        return self._end_progress() + self._event(status)

    def _tool_finished(self, finished: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        self._running.discard(_run_id(finished))
        self._have_run |= finished.HasField("elapsed")
        name = self._tool_name(finished)
        lines = self._report.add_tool(finished)
        return b"".join(self._progress(name, line) for line in lines)

    def _tool_sources(self, event: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        self._have_run = True
        self._sources.extend(event.sources)
        if self._view in ("reasoning", "none") or not event.sources:
            return b""
        name = self._names.get(event.binding_id) or event.binding_id
        return self._event(open_webui_events.source(event.binding_id, name, event.sources))

    def _call(self, call: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        if self._legacy:
            return self._function_call(call)
        delta = {"tool_calls": [{"index": self._calls, **run_events.tool_call(call)}]}
        self._calls += 1
        return self._end_progress() + self._chunk(one_line(_encode(delta)))

    def _function_call(self, call: Any) -> bytes:  # noqa: ANN401 - as above
        if self._calls:
            return self._warning(run_events.ONE_CALL)
        self._calls = 1
        delta = {"function_call": run_events.function_call(call)}
        return self._end_progress() + self._chunk(one_line(_encode(delta)))

    def _image(self, image: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        # Open WebUI shows the image from `images`.
        is_shown = self._view == "openwebui"
        text = run_events.image_reference if is_shown else run_events.image_link
        delta = {
            "content": text(image, self._link),
            "images": [run_events.image_part(image)],
        }
        return self._end_progress() + self._chunk(_encode(delta))  # ASCII: without line breaks

    def _done(self, done: Any) -> bytes:  # noqa: ANN401 - all writers have one signature
        self.finished = True
        log_fields.add_model(done.model)
        delta = run_events.message_extra(done, self._calls)
        # Open WebUI would show their titles as excerpts.
        cited = open_webui_events.annotations(self._sources)
        if cited and self._view != "openwebui":
            delta["annotations"] = cited
        more = b"".join(
            b",%b:%b" % (_encode(name), escaped(value))
            for name, value in run_events.provider_metadata(done.provider_metadata_json).items()
        )
        if report := self._report.event(problems_only=self._view == "none"):
            more += b',"heddle":' + one_line(_encode(report))
        frames = [
            self._end_progress(),
            self._head,
            one_line(_encode(delta)) if delta else b"{}",
            b',"logprobs":null,"finish_reason":"%b"}]'
            % run_events.finish_reason(done, self._calls, legacy=self._legacy).encode(),
            more,
            self._close,
        ]
        if self._usage:
            frames += [
                self._envelope,
                b'],"usage":',
                _encode(run_events.usage(done.usage)),
                b"}\n\n",
            ]
        return b"".join([*frames, END])

    _WRITERS: ClassVar[dict[str, Callable[["StreamEncoder", Any], bytes]]] = {
        "reasoning_delta": _reasoning,
        "status": _status,
        "decision": _decision,
        "output": _output,
        "model_replaced": _model_replaced,
        "warning": _warning,
        "tool_finished": _tool_finished,
        "sources": _tool_sources,
        "tool_call": _call,
        "image": _image,
        "trace": _run_trace,
        "done": _done,
    }
