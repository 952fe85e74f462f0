"""Starts an answer: with the requested model or, if that fails, once with the default model.

The default model answers if the requested model may be the cause of the failure: the provider does
not know the model, failed, or cannot be reached while the default is at another provider. Errors
about the organisation's key are passed on. A refused key (401, 403) must be visible so that it is
fixed, and not hidden by spending elsewhere. An exhausted key (429) states when to try again, and
the default model would use the same key.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import structlog
from heddle_runtime.errors import HeddleError, ProviderRefusedError, UnavailableError

from heddle_connector.generation.call import Call
from heddle_connector.generation.events import Event
from heddle_connector.generation.stalls import LimitedBatches
from heddle_connector.routing.tenant_connectors import TenantConnectors
from heddle_connector.sdk import Connector

AnswerT = TypeVar("AnswerT")
log = structlog.get_logger(__name__)
_BAD_REQUEST, _NOT_FOUND, _FIRST_SERVER_ERROR = 400, 404, 500


async def start_stream(
    tenants: TenantConnectors, call: Call
) -> tuple[Sequence[Event], LimitedBatches]:
    """Return the first events of an answer and the rest, which the caller closes.

    Raises:
        HeddleError: The requested model failed, and so did the default model if it was tried.
    """

    async def answer(connector: Connector[Any]) -> tuple[Sequence[Event], LimitedBatches]:
        batches = LimitedBatches(connector.generate(call), call.stall_seconds)
        async for first in batches:
            if first:  # before it, another model can still answer
                return first, batches
        return (), batches

    return await _with_fallback(tenants, call, answer)


def complete(tenants: TenantConnectors, call: Call) -> Coroutine[Any, Any, Sequence[Event]]:
    """Return all events of an answer. Raises as `start_stream` does."""
    return _with_fallback(tenants, call, lambda connector: connector.complete(call))


async def _with_fallback(
    tenants: TenantConnectors, call: Call, answer: Callable[[Connector[Any]], Awaitable[AnswerT]]
) -> AnswerT:
    connector = await tenants.connector(call)
    try:
        return await answer(connector)
    except HeddleError as error:
        error.metadata.setdefault("provider", call.connector)
        call.inference.end(error)
        if not _may_depend_on_model(error):
            raise
        replacement = await _by_default_model(tenants, call, answer, error)
        if replacement is None:
            raise
        return replacement


async def _by_default_model(
    tenants: TenantConnectors,
    call: Call,
    answer: Callable[[Connector[Any]], Awaitable[AnswerT]],
    error: HeddleError,
) -> AnswerT | None:
    """Return the default model's answer, None if there is none."""
    requested = f"{call.connector}/{call.model}"
    try:
        default = await tenants.default(call)
        if default is None:
            return None
        name, model, connector = default
        if name == call.connector and "http_status" not in error.metadata:
            return None  # the same provider, which cannot be reached
        call.replace(name, model, error.reason)
        result = await answer(connector)
    except HeddleError as second:
        call.inference.end(second)
        log.warning("default model failed as well", requested=requested, reason=second.reason)
        return None
    log.warning(
        "model failed, default model answers",
        requested=requested,
        replacement=f"{name}/{model}",
        reason=error.reason,
    )
    return result


def _may_depend_on_model(error: HeddleError) -> bool:
    metadata = error.metadata
    text = metadata.get("http_status", "")
    status = int(text) if text.isdecimal() else _FIRST_SERVER_ERROR
    match error:
        case UnavailableError():
            return status >= _FIRST_SERVER_ERROR
        case ProviderRefusedError() if status == _BAD_REQUEST:
            labels = (metadata.get("provider_code", ""), metadata.get("provider_type", ""))
            named = metadata.get("provider_param") == "model"
            return named or any("model" in label for label in labels)
        case ProviderRefusedError():
            return status == _NOT_FOUND
        case _:
            return False
