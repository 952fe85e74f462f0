"""`heddle.assistant.v1.FollowingService`."""

from heddle.assistant.v1 import following_pb2 as pb
from heddle.assistant.v1 import following_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.permissions import require_administrator, require_service
from heddle_runtime.storage.database.engine import Database

from heddle_assistants.field_checks import require
from heddle_assistants.following.applied_rows import TABLES, listed
from heddle_assistants.following.applying import Applying, applied
from heddle_assistants.following.claims import Claims


class FollowingServicer(pb_grpc.FollowingServiceServicer):
    """Translates between the contract and the tables."""

    def __init__(self, database: Database, claims: Claims, applying: Applying) -> None:
        self._database = database
        self._claims = claims
        self._applying = applying

    async def ClaimFollowing(
        self, request: pb.ClaimFollowingRequest, context: Context
    ) -> pb.ClaimFollowingResponse:
        """Claim the right to follow the other installation."""
        require_service(caller().identity)
        return pb.ClaimFollowingResponse(claimed=await self._claims.claim(request))

    async def ListFollowedRows(
        self, request: pb.ListFollowedRowsRequest, context: Context
    ) -> pb.ListFollowedRowsResponse:
        """List rows that were applied."""
        require_service(caller().identity)
        _require_table(request.table)
        async with self._database.reading() as connection:
            rows = await listed(connection, TABLES[request.table], request.after_id)
        return pb.ListFollowedRowsResponse(rows=rows)

    async def FollowRows(
        self, request: pb.FollowRowsRequest, context: Context
    ) -> pb.FollowRowsResponse:
        """Apply rows of the other installation."""
        require_service(caller().identity)
        _require_table(request.table)
        drafts = await self._applying.run(request)
        return pb.FollowRowsResponse(rows=map(applied, drafts))

    async def GetFollowing(
        self, request: pb.GetFollowingRequest, context: Context
    ) -> pb.GetFollowingResponse:
        """Return the state of the following."""
        require_administrator(caller().identity)
        return await self._claims.status()


def _require_table(table: int) -> None:
    require(table in TABLES, "table", "is not followed")
