"""The span of a request to a model."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.telemetry import log_fields, spans

from heddle_connector.generation.events import Usage
from heddle_connector.generation.metrics import operation, provider_name

if TYPE_CHECKING:
    from heddle_connector.generation.call import Call

_KINDS: Mapping[str, spans.Kind] = {"local": "INTERNAL", "bypass": "INTERNAL"}
"""The connectors that call no other server."""


def span_of(
    request: pb.GenerateMessageRequest, *, stream: bool
) -> tuple[str, spans.Kind, Callable[[], spans.Attributes]]:
    """Return the name, the kind and the attributes of a request's span."""
    model = request.model
    name = f"{operation(model.connector)} {model.model}"
    kind = _KINDS.get(model.connector, "CLIENT")
    return name, kind, partial(_attributes, request, stream=stream)


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


def answer_attributes(call: "Call", usage: Usage | None) -> spans.Attributes:
    """Return the attributes of the span that are known after the answer."""
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
