"""The slots that tools fill if their bindings name none."""

from collections.abc import Mapping

import structlog
from heddle.tool.v1 import tool_pb2
from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub
from heddle_runtime.contract.limits import MAX_SHORT_PAGE_SIZE
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import Context, remaining
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.ttl_cache import TTLCache

_CACHE_SECONDS = 10.0
_TIMEOUT_SECONDS = 3.0
log = structlog.get_logger(__name__)


class DefaultSlots:
    """A cached list of the tools' own slots."""

    def __init__(self, tools: ToolServiceAsyncStub, credentials: ServiceCredentials) -> None:
        self._tools = tools
        self._credentials = credentials
        self._cache: TTLCache[str, Mapping[str, str]] = TTLCache(_CACHE_SECONDS)

    async def get(self, context: Context) -> Mapping[str, str] | None:
        """Return the slots by the names of the tools; None if the tools cannot be listed."""
        try:
            return await self._cache.get("", self._list, remaining(context, _TIMEOUT_SECONDS))
        except HeddleError as error:
            log.warning("slots of tools not listed", cause=error.message)
            return None

    async def _list(self) -> Mapping[str, str]:
        request = tool_pb2.ListToolsRequest(page_size=MAX_SHORT_PAGE_SIZE)
        slots: dict[str, str] = {}
        while True:
            page = await self._credentials.call(self._tools.ListTools, request, _TIMEOUT_SECONDS)
            slots |= {each.name: each.default_slot for each in page.tools}
            if not page.next_page_token:
                return slots
            request = tool_pb2.ListToolsRequest(
                page_size=MAX_SHORT_PAGE_SIZE, page_token=page.next_page_token
            )
