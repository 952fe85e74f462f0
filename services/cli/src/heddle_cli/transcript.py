"""Prints a run."""

from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import from_status

from heddle_cli.failures import sentence
from heddle_cli.terminal import notes, out, plain


class Transcript:
    """Prints events as they arrive; sources and the trace at the end."""

    def __init__(self) -> None:
        self.done = False
        self._sources: dict[str, None] = {}
        self._trace: orchestrator_pb2.Trace | None = None
        self._open_line = False
        self._cut = False
        self._warned = False

    def show(self, event: orchestrator_pb2.RunEvent) -> None:
        """Print one event, or store it for the end."""
        match event.WhichOneof("event"):
            case "status":
                self._note(event.status.message)
                if diff := event.status.change.diff:
                    self._note(diff.rstrip("\n"))
            case "decision":
                chosen = ", ".join(choice.tool for choice in event.decision.choices)
                self._note(f"chose {chosen}: {event.decision.reason}")
            case "tool_started":
                self._note(f"{_name(event.tool_started)}: started")
            case "tool_finished":
                self._show_finished(event.tool_finished)
            case "text_delta":
                self._write(event.text_delta)
            case "image":
                image = event.image
                size = f"{len(image.data)} bytes of {image.media_type}"
                self._note(f"picture {image.name}: {size}")
            case "tool_call":
                self._note(f"asks for {event.tool_call.name}({event.tool_call.arguments_json})")
            case "warning":
                self._warned = True
                self._note(event.warning, "yellow")
            case _:
                self._store(event)

    def _store(self, event: orchestrator_pb2.RunEvent) -> None:
        self._sources.update(dict.fromkeys(map(_line, event.sources.sources)))
        if event.HasField("trace"):
            self._trace = event.trace
        if event.HasField("done"):
            self.done = True
            self._cut = event.done.finish_reason == chat_pb2.FINISH_REASON_LENGTH

    def end_line(self) -> None:
        """End an open line."""
        if self._open_line:
            self._write("\n")

    def close(self) -> None:
        """Print the sources and the trace."""
        self.end_line()
        if self._cut and not self._warned:  # the warning says what was cut off
            self._note("The answer ends at the model's limit of tokens.")
        if self._sources:
            out.print("\nSources", style="bold")
        for number, line in enumerate(self._sources, start=1):
            out.print(f"{number}. {line}")
        if self._trace is not None:
            show_trace(self._trace)

    def _show_finished(self, finished: orchestrator_pb2.ToolFinished) -> None:
        name = _name(finished)
        for warning in finished.warnings:
            self._note(f"{name}: {warning}", "yellow")
        if finished.HasField("error"):
            self._note(f"{name}: {sentence(from_status(finished.error))}", "yellow")
            return
        took = finished.elapsed.ToTimedelta().total_seconds()
        self._note(f"{name}: done in {took:.2f} s")

    def _note(self, text: str, style: str = "dim") -> None:
        self.end_line()
        notes.print(plain(text), style=style)

    def _write(self, text: str) -> None:
        # Not with rich, which an interrupt would leave in the middle of a print.
        self._open_line = not text.endswith("\n")
        out.file.write(plain(text))
        out.file.flush()


def show_trace(trace: orchestrator_pb2.Trace) -> None:
    """Print the steps, the results and the prompt of a run."""
    notes.print("\nTrace", style="bold")
    for step in trace.steps:
        took = step.elapsed.ToTimedelta().total_seconds()
        result = step.error.reason or f"{step.output_chars} characters"
        notes.print(plain(f"{step.name}: {took:.2f} s, {result}"), style="dim")
    for objects in trace.tree.environment.findings:
        notes.print(
            plain(f"{objects.tool} found {len(objects.objects_json)} in {objects.name}"),
            style="dim",
        )
    for message in trace.prompt:
        role = chat_pb2.Role.Name(message.role).removeprefix("ROLE_").lower()
        text = "\n".join(message.parts)
        notes.print(plain(f"\n[{role}]\n{text}"), style="dim")


def _line(source: tool_pb2.Source) -> str:
    """Return a source on one line: title, file, page and address."""
    document, page = source.attributes.get("document"), source.attributes.get("page")
    file = f" ({document})" if document and document != source.title else ""
    place = f", page {page}" if page else ""
    address = f" <{source.uri}>" if source.uri else ""
    return " ".join(plain(f"{source.title}{file}{place}{address}").split())


def _name(tool: orchestrator_pb2.ToolStarted | orchestrator_pb2.ToolFinished) -> str:
    return (
        f"{tool.binding_id} {tool.call.name}".strip() if tool.HasField("call") else tool.binding_id
    )
