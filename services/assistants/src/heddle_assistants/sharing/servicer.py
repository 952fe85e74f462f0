"""`heddle.assistant.v1.SharingService`."""

from heddle.assistant.v1 import sharing_pb2 as pb
from heddle.assistant.v1 import sharing_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import Context, caller

from heddle_assistants.access import may_edit
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.repository.rows import Rows
from heddle_assistants.repository.writer import no_assistant
from heddle_assistants.sharing.store import SharedAssistants


class SharingServicer(pb_grpc.SharingServiceServicer):
    """Translates between the contract and the stored sharing."""

    def __init__(self, catalog: Catalog, rows: Rows, shared: SharedAssistants) -> None:
        self._catalog = catalog
        self._rows = rows
        self._shared = shared

    async def GetSharing(
        self, request: pb.GetSharingRequest, context: Context
    ) -> pb.GetSharingResponse:
        """Return the users who may use and edit an assistant."""
        identity = caller().identity
        await self._catalog.refuse_folder(request.id, identity)
        row = await self._rows.get(request.id)
        if row is None or not may_edit(identity, row):
            raise no_assistant(request.id)
        return pb.GetSharingResponse(sharing=await self._message(row), etag=row.etag)

    async def UpdateSharing(
        self, request: pb.UpdateSharingRequest, context: Context
    ) -> pb.UpdateSharingResponse:
        """Replace the users who may use and edit an assistant."""
        identity = caller().identity
        await self._catalog.refuse_folder(request.id, identity)
        row = await self._shared.share(request.id, identity, request.etag, request.sharing)
        return pb.UpdateSharingResponse(sharing=await self._message(row), etag=row.etag)

    async def TransferAssistant(
        self, request: pb.TransferAssistantRequest, context: Context
    ) -> pb.TransferAssistantResponse:
        """Give an assistant to another user."""
        identity = caller().identity
        await self._catalog.refuse_folder(request.id, identity)
        row = await self._shared.hand_over(request.id, identity, request.etag, request.owner)
        return pb.TransferAssistantResponse(sharing=await self._message(row), etag=row.etag)

    async def _message(self, row: Row) -> pb.Sharing:
        return pb.Sharing(
            visibility=pb.VISIBILITY_ORGANIZATION if row.published else pb.VISIBILITY_PRIVATE,
            users_who_may_use=sorted(row.shares.users),
            users_who_may_edit=sorted(row.shares.editors),
            owner=row.owner,
            unknown_users=await self._shared.unknown_users(row),
        )
