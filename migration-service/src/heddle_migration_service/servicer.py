"""`heddle.assistant.v1.AssistantService`."""

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1 import assistant_pb2_grpc as pb_grpc
from heddle_runtime.boundary import Context
from heddle_runtime.calls import caller
from heddle_runtime.errors import NotFoundError
from heddle_runtime.paging import page

from heddle_migration_service.store import Assistants, Kept


class AssistantServicer(pb_grpc.AssistantServiceServicer):
    """Translates between the contract and the store."""

    def __init__(self, assistants: Assistants) -> None:
        self._assistants = assistants

    async def GetAssistant(
        self, request: pb.GetAssistantRequest, context: Context
    ) -> pb.GetAssistantResponse:
        """Return one assistant. A forbidden one is answered like a missing one."""
        kept = await self._assistants.find(request.reference, caller().identity)
        if kept is None:
            message = f"No assistant is named {request.reference[:200]!r}."
            raise NotFoundError(message, assistant=request.reference[:200])
        return pb.GetAssistantResponse(assistant=kept.assistant, etag=kept.etag)

    async def ListAssistants(
        self, request: pb.ListAssistantsRequest, context: Context
    ) -> pb.ListAssistantsResponse:
        """List what the caller may use."""
        found, token = page(
            await self._assistants.visible(caller().identity),
            lambda kept: kept.assistant.id,
            request.page_size,
            request.page_token,
            default=100,
            maximum=1000,
        )
        return pb.ListAssistantsResponse(
            assistants=[_summary(kept) for kept in found], next_page_token=token
        )


def _summary(kept: Kept) -> pb.AssistantSummary:
    assistant = kept.assistant
    return pb.AssistantSummary(
        id=assistant.id,
        name=assistant.name,
        title=assistant.title or assistant.name,
        description=assistant.description,
        capabilities=assistant.capabilities,
        create_time=assistant.create_time,
    )
