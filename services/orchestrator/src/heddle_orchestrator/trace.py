"""The trace of a run, for debugging an assistant. Contains no secrets."""

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

from heddle_orchestrator.agent.run_snapshot import snapshot
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.prompts import PromptProcessor
from heddle_orchestrator.prompts.slots import fill
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.function_call import is_deeper

_MAX_DEPTH = 32
"""Levels of arguments. Each costs three of the 100 nested messages that protobuf parses."""
_MODEL = "model"
_MODEL_UNKNOWN = NotFoundError.reason


def trace(
    assistant: assistant_pb2.Assistant,
    processor: PromptProcessor,
    messages: Sequence[chat_pb2.Message],
    bound: Sequence[BoundTool],
    called: Sequence[BoundTool],
    models: Sequence[pb.Trace.Step],
    state: State | None = None,
) -> pb.RunEvent:
    """Return the trace of a run.

    The prompt is created a second time, with the length of each tool's text in place of the text.
    So the trace shows where the texts went without containing them.
    """
    slots = fill(assistant.prompt_template, bound, cite=False, show=_length)
    prompt = processor.prompt(assistant, messages, slots)
    return pb.RunEvent(
        trace=pb.Trace(
            prompt=[_redacted(message) for message in prompt],
            steps=[*map(_step, bound), *map(_step, called), *models],
            tree=snapshot(state) if state else None,
        )
    )


def model_steps(
    seconds: float, chars: int, replaced: chat_pb2.ModelReplaced | None
) -> list[pb.Trace.Step]:
    """Return the step of the generation, and before it the step of a replaced model."""
    elapsed = Duration()
    elapsed.FromNanoseconds(int(seconds * 1e9))
    step = pb.Trace.Step(name=_MODEL, elapsed=elapsed, output_chars=chars)
    if replaced is None:
        return [step]
    return [pb.Trace.Step(name=_MODEL, error_reason=replaced.reason or _MODEL_UNKNOWN), step]


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
        return to_struct(redact_value(from_struct(bound.binding.config)))
    if bound.call.arguments is not None and not is_deeper(bound.call.arguments, _MAX_DEPTH):
        with suppress(ValueError):  # a number that a Struct cannot hold, or an unpaired surrogate
            return to_struct(redact_value(bound.call.arguments))
    return to_struct({"malformed": redact(bound.call.proto.arguments_json)})


def _redacted(message: chat_pb2.Message) -> chat_pb2.Message:
    parts = [
        chat_pb2.ContentPart(text=redact(part.text))
        for part in message.parts
        if part.HasField("text")
    ]
    return chat_pb2.Message(role=message.role, parts=parts)
