"""The span of a request to a model."""

from collections.abc import AsyncGenerator, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.telemetry import log_fields, spans

from heddle_connector.generation.events import Usage
from heddle_connector.generation.metrics import operation, provider_name

if TYPE_CHECKING:
    from heddle_connector.generation.call import Call

AnswerT = TypeVar("AnswerT")
_KINDS: Mapping[str, spans.Kind] = {"local": "INTERNAL", "bypass": "INTERNAL"}
"""The connectors that call no other server."""


def traced_stream(
    answer: AsyncGenerator[AnswerT], request: pb.GenerateMessageRequest
) -> AsyncGenerator[AnswerT]:
    """Return a streamed answer with its span; the answer itself if the request was not drawn."""
    if not spans.is_drawn():
        return answer
    attributes = partial(_attributes, request, stream=True)
    return spans.traced_stream(answer, _name(request), _kind(request), attributes)


def traced_call(
    answer: Coroutine[Any, Any, AnswerT], request: pb.GenerateMessageRequest
) -> Coroutine[Any, Any, AnswerT]:
    """Return a whole answer with its span; the answer itself if the request was not drawn."""
    if not spans.is_drawn():
        return answer
    attributes = partial(_attributes, request, stream=False)
    return spans.traced_call(answer, _name(request), _kind(request), attributes)


def _name(request: pb.GenerateMessageRequest) -> str:
    return f"{operation(request.model.connector)} {request.model.model}"


def _kind(request: pb.GenerateMessageRequest) -> spans.Kind:
    return _KINDS.get(request.model.connector, "CLIENT")


def _attributes(request: pb.GenerateMessageRequest, *, stream: bool) -> spans.Attributes:
    """Return the attributes of the span that are known before the answer."""
    model, options = request.model, request.options
    known: dict[str, spans.Value] = {
        "gen_ai.operation.name": operation(model.connector),
        "gen_ai.provider.name": provider_name(model.connector),
        "gen_ai.request.model": model.model,
        "gen_ai.request.stream": stream,
    }
    if options.HasField("temperature"):
        known["gen_ai.request.temperature"] = options.temperature
    if options.HasField("max_tokens"):
        known["gen_ai.request.max_tokens"] = options.max_tokens
    return known


def describe_answer(call: "Call", usage: Usage | None) -> None:
    """Add to the current span what is known after the answer."""
    if spans.is_drawn():
        spans.annotate(partial(_answer, call, usage))


def _answer(call: "Call", usage: Usage | None) -> spans.Attributes:
    known: dict[str, spans.Value] = {}
    if call.replaced is not None:
        known["heddle.model.replacement"] = call.substitute
    if status := log_fields.current().provider_status:
        known["http.response.status_code"] = status
    if usage is not None:
        known["gen_ai.usage.input_tokens"] = usage.prompt_tokens
        known["gen_ai.usage.output_tokens"] = usage.completion_tokens
        if usage.cached_tokens:
            known["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
        if usage.reasoning_tokens:
            known["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning_tokens
    return known
