"""The trace of a run, for debugging an assistant. Contains no secrets and no e-mail addresses."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from google.protobuf.struct_pb2 import Struct
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.call_metadata import Stopwatch
from heddle_runtime.errors import InvalidRequestError, NotFoundError
from heddle_runtime.limits import MAX_JSON_DEPTH, exceeds_depth
from heddle_runtime.redaction import redact_personal, redact_value
from heddle_runtime.struct_codec import from_struct, to_struct

from heddle_orchestrator.agent.run_snapshot import snapshot
from heddle_orchestrator.plan import Plan
from heddle_orchestrator.prompts.slots import fill
from heddle_orchestrator.tools.bindings import BoundTool, is_unnamed, to_duration

if TYPE_CHECKING:
    from heddle_orchestrator.event_mapping import EventList

_MODEL = "model"
_TOO_LONG = "[The prompt is too long for the trace.]"
_MODEL_UNKNOWN = NotFoundError.reason


class Tracing:
    """Observes the events of a run's model, and inserts the trace before the end."""

    __slots__ = ("_chars", "_max_prompt_chars", "_plan", "_replaced", "_watch")

    def __init__(self, plan: Plan, max_prompt_chars: int) -> None:
        self._plan = plan
        self._max_prompt_chars = max_prompt_chars
        self._watch = Stopwatch()
        self._chars = 0
        self._replaced: chat_pb2.ModelReplaced | None = None

    def take(self, events: "EventList") -> None:
        """Observe events. If the last one is `done`, insert the trace before it."""
        for event in events:
            self._chars += len(event.text_delta)
            if event.HasField("model_replaced"):
                self._replaced = event.model_replaced
        if events[-1].HasField("done"):
            last = events.pop()
            events.extend([pb.RunEvent(trace=self._trace()), last])

    def _trace(self) -> pb.Trace:
        """Return the trace."""
        plan = self._plan
        return pb.Trace(
            prompt=map(_redacted, self._prompt()),
            steps=[
                *_skipped(plan.assistant),
                *map(_step, [*plan.bound, *plan.called]),
                *self._model_steps(),
            ],
            tree=snapshot(plan.state) if plan.state else None,
        )

    def _prompt(self) -> Sequence[chat_pb2.Message]:
        """Return the prompt, created a second time with the length of each tool's text instead.

        So the trace shows where the texts went without containing them. In a slot that is repeated
        often, the lengths may need more room than short texts: the prompt is left out then.
        """
        plan = self._plan
        slots = fill(plan.assistant.prompt_template, plan.bound, cite=False, show=_length)
        try:
            return plan.processor.prompt(
                plan.assistant,
                plan.request.messages,
                slots.texts,
                slots.notes,
                max_chars=self._max_prompt_chars,
            )
        except InvalidRequestError:
            part = chat_pb2.ContentPart(text=_TOO_LONG)
            return [chat_pb2.Message(role=chat_pb2.ROLE_SYSTEM, parts=[part])]

    def _model_steps(self) -> Iterator[pb.Trace.Step]:
        """Yield the step of a replaced model, and the step of the generation."""
        if self._replaced is not None:
            yield pb.Trace.Step(name=_MODEL, error_reason=self._replaced.reason or _MODEL_UNKNOWN)
        elapsed = to_duration(self._watch.seconds())
        yield pb.Trace.Step(name=_MODEL, elapsed=elapsed, output_chars=self._chars)


def _skipped(assistant: assistant_pb2.Assistant) -> Iterator[pb.Trace.Step]:
    """Yield a step for each binding without the name of a tool."""
    for index, binding in enumerate(assistant.tools):
        if is_unnamed(binding) and not binding.disabled:
            name = binding.id or f"tools[{index}]"
            yield pb.Trace.Step(name=name, error_reason=NotFoundError.reason)


def _length(bound: BoundTool) -> str:
    return f"[{bound.id}: {len(bound.text)} characters]" if bound.text else ""


def _step(bound: BoundTool) -> pb.Trace.Step:
    failure = bound.failure
    return pb.Trace.Step(
        name=bound.call.name if bound.call else bound.id,
        elapsed=bound.elapsed,
        input=_input(bound),
        output_chars=len(bound.text),
        error_reason=failure.reason if failure else "",
    )


def _input(bound: BoundTool) -> Struct:
    if bound.call is None:
        return to_struct(redact_value(from_struct(bound.binding.config), personal=True))
    if bound.call.arguments is not None and not exceeds_depth(bound.call.arguments, MAX_JSON_DEPTH):
        with suppress(ValueError):  # a number that a Struct cannot hold, or an unpaired surrogate
            return to_struct(redact_value(bound.call.arguments, personal=True))
    return to_struct({"malformed": redact_personal(bound.call.proto.arguments_json)})


def _redacted(message: chat_pb2.Message) -> chat_pb2.Message:
    parts = [
        chat_pb2.ContentPart(text=redact_personal(part.text))
        for part in message.parts
        if part.HasField("text")
    ]
    return chat_pb2.Message(role=message.role, parts=parts)
