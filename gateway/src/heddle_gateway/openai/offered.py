"""Which assistants lists offer to people: those that a model can answer for."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import structlog
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.connector.v1.connector_pb2 import ListConnectorsRequest
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.identity.permissions import has

from heddle_gateway.services import LIST_SECONDS, items
from heddle_gateway.state import State

log = structlog.get_logger(__name__)


async def offered(
    state: State, assistants: Sequence[pb.AssistantSummary]
) -> list[pb.AssistantSummary]:
    """Return the assistants that are neither for debugging nor without a provider that is set up.

    In front of another system, which has providers of its own, these are all, as they are if the
    connectors are not known now.
    """
    if state.other_system is not None:
        return list(assistants)
    try:
        connectors = await _connectors(state, {each.organization for each in assistants})
    except HeddleError as error:  # clients that see no assistants remove them from their own lists
        log.warning("connectors not known", reason=error.reason)
        return list(assistants)
    return [each for each in assistants if each.connector in connectors[each.organization]]


async def offer_only(
    state: State, request: pb.ListAssistantsRequest, response: pb.ListAssistantsResponse
) -> pb.ListAssistantsResponse:
    """Return a page of assistants: of published ones, and for members of any, what is offered."""
    if request.selection > pb.SELECTION_USABLE and has(caller().identity, "manage_assistants"):
        return response
    return pb.ListAssistantsResponse(
        assistants=await offered(state, response.assistants),
        next_page_token=response.next_page_token,
    )


async def _connectors(state: State, organizations: Iterable[str]) -> Mapping[str, set[str]]:
    """Return by organisation the connectors whose models answer people."""
    names = list(organizations)
    known = state.offered_connectors
    loads = (known.get(each, partial(_load, state, each)) for each in names)
    return dict(zip(names, await asyncio.gather(*loads), strict=True))


async def _load(state: State, organization: str) -> set[str]:
    request = ListConnectorsRequest(organization=organization or DEFAULT_ORGANIZATION)
    with state.credentials.as_service():
        method = state.services.connectors.ListConnectors
        connectors = await items(method, request, "connectors", LIST_SECONDS)
    return {each.name for each in connectors if each.usable and not each.debugging}
