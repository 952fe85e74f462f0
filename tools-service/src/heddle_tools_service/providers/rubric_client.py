"""Rubrics of the database, read through the assistants service."""

import structlog
from heddle.rubric.v1 import rubric_pb2 as pb
from heddle.rubric.v1 import rubric_pb2_grpc as pb_grpc
from heddle.rubric.v1.rubric_pb2_grpc import RubricServiceAsyncStub
from heddle_runtime.errors import HeddleError, NotFoundError
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import Channel
from heddle_runtime.rpc.ttl_cache import TTLCache

from heddle_tools_service.capabilities.rubrics import Rubric
from heddle_tools_service.sdk import Assistant, ToolUnavailableError

log = structlog.get_logger(__name__)
RUBRICS = pb.DESCRIPTOR.services_by_name["RubricService"]
REMEMBERED = 2.0
"""The number of seconds for which a rubric is cached."""
_MAX_CACHED = 256  # each may hold a quarter of a million characters


class RubricClient:
    """Calls the service of rubrics with the credentials of the tool service."""

    def __init__(self, rubrics: Channel, acting: ServiceCredentials) -> None:
        self._rubrics: RubricServiceAsyncStub = pb_grpc.RubricServiceStub(rubrics)  # type: ignore[arg-type] # a local channel stands for a real one
        self._acting = acting
        self._known: TTLCache[bytes, pb.Rubric | None] = TTLCache(REMEMBERED, _MAX_CACHED)

    async def find(self, rubric_id: str, assistant: Assistant) -> Rubric | None:
        """Return a rubric; None if it does not exist or the assistant's owner may not read it.

        Raises:
            ToolUnavailableError: The service does not answer.
        """
        owner = pb.AssistantOwner(owner=assistant.owner, organization=assistant.organization)
        request = pb.GetRubricRequest(id=rubric_id, on_behalf_of=owner)
        try:
            rubric = await self._known.get(request.SerializeToString(), lambda: self._ask(request))
        except HeddleError as error:
            log.error("rubric unavailable", reason=error.reason)  # noqa: TRY400 - the other service is at fault
            raise ToolUnavailableError("the rubrics are unavailable at the moment") from None
        return Rubric(rubric.id, rubric.title, rubric.content_json) if rubric else None

    async def _ask(self, request: pb.GetRubricRequest) -> pb.Rubric | None:
        try:
            return (await self._acting.call(self._rubrics.GetRubric, request)).rubric
        except NotFoundError:
            return None
