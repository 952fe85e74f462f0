"""The beginning of an answer: by the model that was asked for, or once by the default in its place.

What may be at the model is worth a second try: the provider does not know it, or failed, or cannot
be reached while the default is at another one. What is about the organisation's key is not. A
refused key (401, 403) must be seen and mended, not hidden by spending elsewhere; a used-up one
(429) says when to come back, and the default would be asked with the same key.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import structlog
from heddle_runtime.errors import HeddleError, ProviderRefusedError, UnavailableError

from heddle_connector.generation.call import Call
from heddle_connector.generation.events import Event
from heddle_connector.routing.tenant_connectors import Owners
from heddle_connector.sdk import Connector

AnswerT = TypeVar("AnswerT")
Batches = AsyncGenerator[Sequence[Event], None]
log = structlog.get_logger(__name__)
_BAD_REQUEST, _NOT_FOUND, _FAILURES = 400, 404, 500


async def begin(owners: Owners, call: Call) -> tuple[Sequence[Event], Batches]:
    """Return the first events of an answer and the rest, which the caller closes.

    Raises:
        HeddleError: There is no answer. If the default gave none either, what the model itself
            failed with.
    """

    async def answer(connector: Connector[Any]) -> tuple[Sequence[Event], Batches]:
        batches = connector.generate(call)
        return await anext(batches, ()), batches

    return await _answered(owners, call, answer)


def whole(owners: Owners, call: Call) -> Coroutine[Any, Any, Sequence[Event]]:
    """Return all events of an answer. Raises as `begin`."""
    return _answered(owners, call, lambda connector: connector.whole(call))


async def _answered(
    owners: Owners, call: Call, answer: Callable[[Connector[Any]], Awaitable[AnswerT]]
) -> AnswerT:
    connector = await owners.connector(call)
    try:
        return await answer(connector)
    except HeddleError as error:
        error.metadata.setdefault("provider", call.connector)
        if not _may_be_at_the_model(error):
            raise
        replaced = await _by_default(owners, call, answer, error)
        if replaced is None:
            raise
        return replaced


async def _by_default(
    owners: Owners,
    call: Call,
    answer: Callable[[Connector[Any]], Awaitable[AnswerT]],
    error: HeddleError,
) -> AnswerT | None:
    """Return the default model's answer, None if it gives none."""
    wanted = f"{call.connector}/{call.model}"
    try:
        found = await owners.default(call)
        if found is None:
            return None
        name, model, connector = found
        if name == call.connector and "http_status" not in error.metadata:
            return None  # the same provider, which cannot be reached
        call.replace(name, model, error.reason)
        replaced = await answer(connector)
    except HeddleError as again:
        log.warning("default model failed, too", wanted=wanted, reason=again.reason)
        return None
    log.warning("model failed", wanted=wanted, instead=f"{name}/{model}", reason=error.reason)
    return replaced


def _may_be_at_the_model(error: HeddleError) -> bool:
    told = error.metadata
    text = told.get("http_status", "")
    status = int(text) if text.isdecimal() else _FAILURES
    match error:
        case UnavailableError():
            return status >= _FAILURES
        case ProviderRefusedError() if status == _BAD_REQUEST:
            about = (told.get("provider_code", ""), told.get("provider_type", ""))
            return told.get("provider_param") == "model" or any("model" in word for word in about)
        case ProviderRefusedError():
            return status == _NOT_FOUND
        case _:
            return False
