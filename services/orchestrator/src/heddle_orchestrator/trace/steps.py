"""The steps of a run, as a trace lists them."""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.struct_pb2 import Struct
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.json_text import members
from heddle_runtime.contract.limits import MAX_JSON_DEPTH, exceeds_depth
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.errors import HeddleError, NotFoundError
from heddle_runtime.redaction import redact, redact_personal, redact_value

from heddle_orchestrator.metering.prices import cost_micros
from heddle_orchestrator.plan import Plan
from heddle_orchestrator.tools.bindings import BoundTool, is_unnamed, to_duration
from heddle_orchestrator.trace.texts import shortened

PriceOf = Callable[[str], Awaitable[assistant_pb2.Price | None]]
"""Returns the price of a model `connector/model`."""
_MODEL = "model"
_PAGE = re.compile(r"\d{1,9}", re.ASCII)
_PAGE_IMAGE = re.compile(r"/v1/vector_stores/[\w-]+/files/[\w-]+/pages/\d+", re.ASCII)


@dataclass(slots=True)
class Round:
    """A request to a model, and its answer or failure."""

    start: float
    """Seconds after the start of the run."""
    seconds: float = 0.0
    chars: int = 0
    """The length of the text."""
    replaced: chat_pb2.ModelReplaced | None = None
    done: chat_pb2.Done | None = None
    failure: HeddleError | None = None
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text."""
        return "".join(self._pieces)

    def take(self, events: Iterable[pb.RunEvent]) -> None:
        """Record events."""
        for event in events:
            match event.WhichOneof("event"):
                case "text_delta":
                    self._pieces.append(event.text_delta)
                    self.chars += len(event.text_delta)
                case "model_replaced":
                    self.replaced = event.model_replaced
                case "done":
                    self.done = event.done
                case _:
                    continue


class Steps:
    """The steps of a run that has ended."""

    def __init__(self, plan: Plan, origin: float) -> None:
        """List the steps of the tools.

        Args:
            plan: The run.
            origin: When it began, by `time.perf_counter`.
        """
        self._plan = plan
        self._texts = plan.trace_texts
        self.tools = list(_skipped(plan.assistant))
        self.positions: dict[int, int] = {}
        """The positions of the steps of tools, by the identity of the tool's run."""
        self.models: list[pb.Trace.Step] = []
        for bound in (*plan.bound, *plan.called):
            self.positions[id(bound)] = len(self.tools)
            self.tools.append(self._tool(bound, origin))

    async def add_rounds(self, rounds: Iterable[Round], price_of: PriceOf) -> None:
        """Add the steps of requests to models, with their costs."""
        ref = self._plan.assistant.model
        prices: dict[str, assistant_pb2.Price | None] = {}
        for each in rounds:
            done = each.done
            model = (done.substitute if done else "") or f"{ref.connector}/{ref.model}"
            if model not in prices:
                prices[model] = await price_of(model)
            if each.replaced is not None:
                reason = each.replaced.reason or NotFoundError.reason
                requested = each.replaced.requested
                failure = pb.Trace.Failure(reason=reason)
                self.models.append(self._step(_MODEL, error=failure, model=requested))
            step = self._step(
                _MODEL,
                start=to_duration(each.start),
                elapsed=to_duration(each.seconds),
                output_chars=each.chars,
                model=model,
            )
            if self._texts:
                step.output, step.output_cut = shortened(each.text)
            if each.failure is not None:
                step.error.CopyFrom(self._failure(each.failure))
            if done is not None and done.HasField("usage"):
                step.usage.CopyFrom(done.usage)
                if (price := prices[model]) is not None:
                    step.cost_micros = cost_micros(done.usage, price)
            self.models.append(step)

    def decisions(self, decided: Iterable[tuple[float, pb.Decision]]) -> Iterator[pb.Trace.Step]:
        """Yield the steps of decisions, each with its start in seconds."""
        for start, decision in decided:
            chosen: list[dict[str, Any]] = [
                {"tool": each.tool, "inputs": members(each.inputs_json)}
                for each in decision.choices
            ]
            rejected = self._clean(decision.rejected)
            yield pb.Trace.Step(
                name=decision.router,
                kind=pb.Trace.STEP_KIND_DECISION,
                start=to_duration(start),
                elapsed=decision.elapsed,
                input=self._struct({"choices": chosen}, str(chosen)),
                output=decision.reason if self._texts else "",
                output_chars=len(decision.reason),
                error=pb.Trace.Failure(message=rejected) if rejected else None,
            )

    def _step(self, name: str, **fields: Any) -> pb.Trace.Step:  # noqa: ANN401 - of the message
        return pb.Trace.Step(name=name, kind=pb.Trace.STEP_KIND_MODEL, **fields)

    def _tool(self, bound: BoundTool, origin: float) -> pb.Trace.Step:
        failure = bound.failure
        step = pb.Trace.Step(
            name=bound.call.name if bound.call else bound.id,
            kind=pb.Trace.STEP_KIND_TOOL,
            elapsed=bound.elapsed,
            input=self._input(bound),
            output_chars=len(bound.text),
            binding_id=bound.binding_id,
            tool=bound.tool,
            slot="" if bound.call else bound.slot,
            call_id=bound.call.id if bound.call else "",
            error=self._failure(failure) if failure else None,
        )
        if bound.started is not None:
            step.start.CopyFrom(to_duration(max(0.0, bound.started - origin)))
        if self._texts:
            step.output, step.output_cut = shortened(bound.text)
            step.sources.extend(map(trace_source, bound.sources))
        return step

    def _failure(self, error: HeddleError) -> pb.Trace.Failure:
        return pb.Trace.Failure(reason=error.reason, message=self._clean(error.message))

    def _input(self, bound: BoundTool) -> Struct:
        if bound.call is None:
            config = from_struct(bound.binding.config)
            return to_struct(redact_value(config, personal=not self._texts))
        return self._struct(bound.call.arguments, bound.call.proto.arguments_json)

    def _struct(self, value: dict[str, Any] | None, text: str) -> Struct:
        """Return an object without secrets; if a `Struct` cannot hold it, its text."""
        if value is not None and not exceeds_depth(value, MAX_JSON_DEPTH):
            with suppress(ValueError):  # a number that is too large, or an unpaired surrogate
                return to_struct(redact_value(value, personal=not self._texts))
        return to_struct({"malformed": self._clean(text)})

    def _clean(self, text: str) -> str:
        """Return a text without secrets; with personal data only if the trace has texts."""
        return redact(text) if self._texts else redact_personal(text)


def _skipped(assistant: assistant_pb2.Assistant) -> Iterator[pb.Trace.Step]:
    """Yield a step for each binding without the name of a tool."""
    for index, binding in enumerate(assistant.tools):
        if is_unnamed(binding) and not binding.disabled:
            name = binding.id or f"tools[{index}]"
            error = pb.Trace.Failure(reason=NotFoundError.reason)
            yield pb.Trace.Step(name=name, kind=pb.Trace.STEP_KIND_TOOL, error=error)


def trace_source(source: tool_pb2.Source) -> pb.Trace.Source:
    """Return the source of a tool as a trace shows it."""
    page, image = (source.attributes.get(name, "") for name in ("page", "picture_uri"))
    return pb.Trace.Source(
        title=source.title,
        uri=source.uri,
        excerpt=source.excerpt,
        page=int(page) if _PAGE.fullmatch(page) else 0,
        # A tool chooses its attributes: nothing else is shown as an address of the gateway.
        page_image=image if _PAGE_IMAGE.fullmatch(image) else "",
    )
