"""The report on the tools and the model of a run, which clients receive beside its answer."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import quote

from heddle.chat.v1.chat_pb2 import ModelReplaced
from heddle.orchestrator.v1.orchestrator_pb2 import ToolFinished, Trace
from heddle_runtime.contract.frontend_payloads import shortened
from heddle_runtime.errors import from_status
from heddle_runtime.telemetry import log_fields

from heddle_gateway.http.error_responses import from_error
from heddle_gateway.http.headers import Headers
from heddle_gateway.http.models import Model
from heddle_gateway.openai.chat import run_events
from heddle_gateway.transcoding.messages import writer
from heddle_gateway.transcoding.schemas import described_as


class TraceEvent(Model):
    """The trace of a run. In a stream it comes before the last chunk."""

    type: Literal["trace"] = "trace"
    data: Annotated[dict[str, Any], described_as(Trace.DESCRIPTOR)]


def trace_event(trace: Trace) -> dict[str, Any]:
    """Return a trace as an event for clients."""
    return {"type": "trace", "data": writer(Trace.DESCRIPTOR)(trace)}


Outcome = Literal["used", "empty", "failed"]
WARNING_HEADER = b"x-heddle-warning"
_LABELS: dict[Outcome, str] = {"used": "used ", "empty": "found nothing: ", "failed": "failed: "}
_PLAIN = " !#$&'()*+,/:;=?@[]"  # allowed in a header beside letters; model names can have them
_MAX_HEADER_CHARS = 500
"""Before characters are escaped."""


class RunReport:
    """Collects the outcomes of tools, warnings, and the model that another one has replaced."""

    __slots__ = ("_replaced", "_request_id", "_runs", "_warnings")

    def __init__(self, request_id: str) -> None:
        self._request_id = request_id
        self._runs: list[ToolFinished] = []
        self._replaced: ModelReplaced | None = None
        self._warnings: list[str] = []

    def add_warning(self, text: str) -> bool:
        """Add a sentence about the answer, for users; return whether it is new."""
        if text in self._warnings:  # a model that is asked several times repeats it
            return False
        self._warnings.append(text)
        return True

    def add_tool(self, finished: ToolFinished) -> list[str]:
        """Add the end of a tool's run, and return its failure and warnings as lines for users."""
        self._runs.append(finished)
        log_fields.add_tool(finished.tool)
        if finished.HasField("error"):
            log_fields.current().degraded = "tool"
        return list(_lines(finished, self._request_id))

    def add_replacement(self, replaced: ModelReplaced) -> str:
        """Add a replaced model, and return it as a line for users."""
        self._replaced = replaced
        fields = log_fields.current()
        fields.model, fields.degraded = replaced.replacement, "model"
        return run_events.replacement(replaced)

    @property
    def _is_empty(self) -> bool:
        return self._replaced is None and not (self._runs or self._warnings)

    @property
    def replacement(self) -> str:
        """The replaced model as a line for users; empty if there is none."""
        return "" if self._replaced is None else run_events.replacement(self._replaced)

    @property
    def problems(self) -> list[str]:
        """The failures, warnings and the replaced model, as lines for users."""
        lines = [line for each in self._runs for line in _lines(each, self._request_id)]
        lines += self._warnings
        return [*lines, self.replacement] if self._replaced is not None else lines

    def summary(self) -> str:
        """Return which tools were used, found nothing, or failed; empty if none ran.

        A tool that ran several times counts by its best outcome. The request id follows failures:
        Open WebUI shows only the last line of the progress until the user opens the others.
        """
        best: dict[str, Outcome] = {}
        order: tuple[Outcome, ...] = ("used", "empty", "failed")
        for each in self._runs:
            name, outcome = run_events.tool_name(each), _outcome(each)
            best[name] = min(best.get(name, outcome), outcome, key=order.index)
        groups = [
            (_LABELS[outcome], [name for name, its in best.items() if its == outcome])
            for outcome in order
        ]
        text = "; ".join(f"{label}{', '.join(names)}" for label, names in groups if names)
        return f"{text} (request {self._request_id})" if "failed" in best.values() else text

    def event(self, *, problems_only: bool) -> dict[str, Any]:
        """Return the report as an event for clients; empty if there is nothing to report.

        Args:
            problems_only: Whether a run without failures and warnings has an empty report.
        """
        if self._is_empty:
            return {}
        problems = self.problems
        if problems_only and not problems:
            return {}
        report: dict[str, Any] = {
            "request_id": self._request_id,
            "tools": [_tool(each) for each in self._runs],
            "warnings": problems,
        }
        if (replaced := self._replaced) is not None:
            report["model_replaced"] = {
                "requested": replaced.requested,
                "replacement": replaced.replacement,
            }
        return {"type": "report", "data": report}

    def header(self) -> Headers:
        """Return the header with the problems of the run; no header if there are none."""
        if self._is_empty or not (problems := self.problems):
            return ()
        text = shortened("; ".join(problems), _MAX_HEADER_CHARS)
        return ((WARNING_HEADER, quote(text, safe=_PLAIN).encode()),)


def _lines(finished: ToolFinished, request_id: str) -> Iterator[str]:
    name = run_events.tool_name(finished)
    if finished.HasField("error"):
        message = finished.error.message or "no reason given"
        yield f"{name} failed: {message} (request {request_id})"
    for warning in finished.warnings:
        yield f"{name}: {warning}"


def _outcome(finished: ToolFinished) -> Outcome:
    if finished.HasField("error"):
        return "failed"
    nothing = finished.HasField("result_count") and finished.result_count == 0
    return "empty" if nothing else "used"


def _tool(finished: ToolFinished) -> dict[str, Any]:
    members: dict[str, Any] = {
        "name": run_events.tool_name(finished),
        "binding": finished.binding_id,
        "outcome": _outcome(finished),
        "seconds": finished.elapsed.ToTimedelta().total_seconds(),
    }
    if finished.HasField("result_count"):
        members["result_count"] = finished.result_count
    if finished.HasField("error"):
        error = from_error(from_status(finished.error))
        members["error"] = {"message": error.message, "type": error.type, "code": error.code}
    if finished.warnings:
        members["warnings"] = list(finished.warnings)
    return members
