"""Checks assistants with one call to the tools service and a cached list of connectors."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import grpc
import structlog
from google.rpc.error_details_pb2 import BadRequest
from heddle.connector.v1 import connector_pb2
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub
from heddle_runtime.contract.limits import MAX_SHORT_PAGE_SIZE
from heddle_runtime.errors import DeadlineError, InvalidRequestError, Violation, from_rpc
from heddle_runtime.identity.call_metadata import (
    Context,
    caller,
    calling_as,
    new_call_options,
    on_behalf_of,
    remaining,
)
from heddle_runtime.identity.callers import SERVICE, Identity
from heddle_runtime.rpc.ttl_cache import TTLCache

from heddle_orchestrator.validation.faults import (
    Installed,
    compare,
    faults_of,
    idle_functions,
    key_of,
    missing_packages,
    tool_request,
    unchecked,
)

MAX_REQUESTS = 500
_MAX_CONFIGS = 5_000
"""The maximum number of configurations in one call to the tools service."""
_NAME = "heddle-orchestrator"
_CACHE_SECONDS = 10.0
_TIMEOUT_SECONDS = 3.0
_UNREACHABLE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
AnswerT = TypeVar("AnswerT")
Connectors = Mapping[str, connector_pb2.Connector]
Bindings = Mapping[bytes, Sequence[Violation]]
log = structlog.get_logger(__name__)


class Validator:
    """Checks assistants."""

    def __init__(self, tools: ToolServiceAsyncStub, connectors: ConnectorServiceAsyncStub) -> None:
        self._tools = tools
        self._connectors = connectors
        self._cache: TTLCache[str, Connectors] = TTLCache(_CACHE_SECONDS)

    async def check(
        self, requests: Sequence[pb.ValidateAssistantRequest], context: Context
    ) -> list[pb.ValidateAssistantResponse]:
        """Return the violations and warnings of each request.

        Raises:
            InvalidRequestError: There are too many requests.
        """
        _check_number(requests)
        seconds = remaining(context, _TIMEOUT_SECONDS)
        connectors, bindings = await asyncio.gather(
            _or_none(self._available_connectors(seconds), "connectors"),
            _or_none(self._checked_bindings(requests, seconds), "tools"),
        )
        installed = Installed(connectors, bindings)
        return [_response(request, installed) for request in requests]

    async def _available_connectors(self, seconds: float) -> Connectors:
        # What an organisation can use is the same for all its members.
        slug = caller().identity.organization
        return await self._cache.get(slug, partial(self._list_connectors, slug), seconds)

    async def _list_connectors(self, organization: str) -> Connectors:
        request = connector_pb2.ListConnectorsRequest(page_size=MAX_SHORT_PAGE_SIZE)
        connectors: dict[str, connector_pb2.Connector] = {}
        while True:
            with calling_as(on_behalf_of(Identity(_NAME, organization, (SERVICE,)))):
                page = await self._connectors.ListConnectors(
                    request, **new_call_options(_TIMEOUT_SECONDS)
                )
            connectors |= {each.name: each for each in page.connectors}
            if not page.next_page_token:
                return connectors
            request = connector_pb2.ListConnectorsRequest(
                page_size=MAX_SHORT_PAGE_SIZE, page_token=page.next_page_token
            )

    async def _checked_bindings(
        self, requests: Iterable[pb.ValidateAssistantRequest], seconds: float
    ) -> Bindings:
        """Return the violations of all bindings; equal bindings are checked once."""
        to_check = {
            key_of(each): each
            for request in requests
            for assistant in (request.assistant, request.stored)
            for each in map(tool_request, assistant.tools)
            if each.name.strip()
        }
        checked: dict[bytes, Sequence[Violation]] = {}
        names = list(to_check)
        for start in range(0, len(names), _MAX_CONFIGS):
            keys = names[start : start + _MAX_CONFIGS]
            batch = tool_pb2.BatchValidateToolConfigsRequest(requests=[to_check[k] for k in keys])
            answer = await self._tools.BatchValidateToolConfigs(batch, **new_call_options(seconds))
            for key, each in zip(keys, answer.responses, strict=True):
                checked[key] = [Violation(v.field, v.description) for v in each.violations]
        return checked


def _check_number(requests: Sequence[pb.ValidateAssistantRequest]) -> None:
    if len(requests) > MAX_REQUESTS:
        violation = Violation("requests", f"must have at most {MAX_REQUESTS} items")
        raise InvalidRequestError("The batch is too large.", [violation])


def _response(
    request: pb.ValidateAssistantRequest, installed: Installed
) -> pb.ValidateAssistantResponse:
    faults = faults_of(request.assistant, installed)
    stored = faults_of(request.stored, installed) if request.HasField("stored") else []
    violations, warnings = compare(faults, stored)
    warnings += unchecked(request.assistant, installed)
    warnings += idle_functions(request.assistant, installed)
    warnings += missing_packages(request.assistant)
    return pb.ValidateAssistantResponse(
        violations=map(_message, violations), warnings=map(_message, warnings)
    )


def _message(violation: Violation) -> BadRequest.FieldViolation:
    return BadRequest.FieldViolation(field=violation.field, description=violation.description)


async def _or_none(answer: Awaitable[AnswerT], service: str) -> AnswerT | None:
    """Return the answer of a service, None if the service cannot be reached."""
    try:
        return await answer
    except DeadlineError as error:
        cause = error.message
    except grpc.aio.AioRpcError as rpc_error:
        if rpc_error.code() not in _UNREACHABLE:
            raise
        cause = from_rpc(rpc_error).message
    log.warning(
        "assistants are stored unchecked: a service cannot be reached", service=service, cause=cause
    )
    return None
