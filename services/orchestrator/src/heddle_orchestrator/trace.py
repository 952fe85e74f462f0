"""What was done, for debugging an assistant, without what nobody else should read."""

from collections.abc import Sequence
from contextlib import suppress

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.errors import NotFoundError
from heddle_runtime.redaction import redact, redact_value
from heddle_runtime.struct_codec import from_struct, to_struct

from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.traced import traced
from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.call import is_deeper
from heddle_orchestrator.prompt_processors import PromptProcessor
from heddle_orchestrator.slots import fill

_DEEPEST = 32
"""Levels of traced arguments: each costs three of the 100 nested messages that protobuf reads."""
_MODEL = "model"
_NOT_OFFERED = NotFoundError.reason


def trace(
    assistant: assistant_pb2.Assistant,
    processor: PromptProcessor,
    messages: Sequence[chat_pb2.Message],
    bound: Sequence[Bound],
    called: Sequence[Bound],
    models: Sequence[pb.Trace.Step],
    state: State | None = None,
) -> pb.RunEvent:
    """Return the trace of a run.

    The prompt is made a second time with each tool's text replaced by its length, so that the
    trace shows where everything went without holding it.
    """
    slots = fill(assistant.prompt_template, bound, cite=False, show=_length)
    prompt = processor.prompt(assistant, messages, slots)
    return pb.RunEvent(
        trace=pb.Trace(
            prompt=[_redacted(message) for message in prompt],
            steps=[*map(_step, bound), *map(_step, called), *models],
            tree=traced(state) if state else None,
        )
    )


def model_steps(
    seconds: float, chars: int, replaced: chat_pb2.ModelReplaced | None
) -> list[pb.Trace.Step]:
    """Return the step of the generation, after one of the model that it replaced."""
    elapsed = Duration()
    elapsed.FromNanoseconds(int(seconds * 1e9))
    step = pb.Trace.Step(name=_MODEL, elapsed=elapsed, output_chars=chars)
    if replaced is None:
        return [step]
    return [pb.Trace.Step(name=_MODEL, error_reason=replaced.reason or _NOT_OFFERED), step]


def _length(bound: Bound) -> str:
    return f"[{bound.id}: {len(bound.text)} characters]" if bound.text else ""


def _step(bound: Bound) -> pb.Trace.Step:
    failure = bound.failure
    return pb.Trace.Step(
        name=bound.call.name if bound.call else bound.id,
        elapsed=bound.elapsed,
        input=_input(bound),
        output_chars=len(bound.text),
        error_reason=failure.reason if failure else "",
    )


def _input(bound: Bound) -> Struct:
    if bound.call is None:
        return to_struct(redact_value(from_struct(bound.binding.config)))
    if bound.call.arguments is not None and not is_deeper(bound.call.arguments, _DEEPEST):
        with suppress(ValueError):  # a number that no Struct holds, or half of a character
            return to_struct(redact_value(bound.call.arguments))
    return to_struct({"malformed": redact(bound.call.told.arguments_json)})


def _redacted(message: chat_pb2.Message) -> chat_pb2.Message:
    parts = [
        chat_pb2.ContentPart(text=redact(part.text))
        for part in message.parts
        if part.HasField("text")
    ]
    return chat_pb2.Message(role=message.role, parts=parts)
