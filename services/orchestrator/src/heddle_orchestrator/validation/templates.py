"""Checks templates with a cached list of the tools' own slots."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import grpc
import structlog
from heddle.assistant.v1 import assistant_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.call_metadata import Context, caller, new_call_options, remaining
from heddle_runtime.errors import from_rpc
from heddle_runtime.limits import MAX_SHORT_PAGE_SIZE
from heddle_runtime.ttl_cache import TTLCache

from heddle_orchestrator.validation.template_findings import findings_of, slots_by_binding

if TYPE_CHECKING:
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub

_CACHE_SECONDS = 10.0
_TIMEOUT_SECONDS = 3.0
DefaultSlots = Mapping[str, str]
log = structlog.get_logger(__name__)


class TemplateChecker:
    """Finds what is probably a mistake in templates."""

    def __init__(self, tools: "ToolServiceAsyncStub") -> None:
        self._tools = tools
        self._cache: TTLCache[str, DefaultSlots] = TTLCache(_CACHE_SECONDS)

    async def check(
        self, assistant: assistant_pb2.Assistant, context: Context
    ) -> list[pb.TemplateFinding]:
        """Return the findings; none if a slot is not known."""
        default_slots: DefaultSlots = {}
        if any(not each.slot for each in assistant.tools):
            seconds = remaining(context, _TIMEOUT_SECONDS)
            try:
                default_slots = await self._default_slots(seconds)
            except grpc.aio.AioRpcError as error:
                log.warning("template not checked", cause=from_rpc(error).message)
                return []
        return findings_of(assistant, slots_by_binding(assistant, default_slots))

    async def _default_slots(self, seconds: float) -> DefaultSlots:
        organization = caller().identity.organization  # which may have tools of its own
        return await self._cache.get(organization, self._list_default_slots, seconds)

    async def _list_default_slots(self) -> DefaultSlots:
        request = tool_pb2.ListToolsRequest(page_size=MAX_SHORT_PAGE_SIZE)
        slots: dict[str, str] = {}
        while True:
            page = await self._tools.ListTools(request, **new_call_options(_TIMEOUT_SECONDS))
            slots |= {each.name: each.default_slot for each in page.tools}
            if not page.next_page_token:
                return slots
            request = tool_pb2.ListToolsRequest(
                page_size=MAX_SHORT_PAGE_SIZE, page_token=page.next_page_token
            )
