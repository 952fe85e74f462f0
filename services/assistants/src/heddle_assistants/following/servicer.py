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
from heddle_assistants.repository.batches import MAX_ROWS

_MAX_CLAIMANT = 64
_MAX_DIGEST = 64
_MAX_ORIGIN = 64


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
        check_claim(request)
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
        check_rows(request)
        drafts = await self._applying.run(request)
        return pb.FollowRowsResponse(rows=map(applied, drafts))

    async def GetFollowing(
        self, request: pb.GetFollowingRequest, context: Context
    ) -> pb.GetFollowingResponse:
        """Return the state of the following."""
        require_administrator(caller().identity)
        return await self._claims.status()


def check_claim(request: pb.ClaimFollowingRequest) -> None:
    """Refuse a claim without a claimant, or with one that is too long.

    Raises:
        InvalidRequestError: Names it.
    """
    fits = 0 < len(request.claimant) <= _MAX_CLAIMANT
    require(fits, "claimant", f"must have 1 to {_MAX_CLAIMANT} characters")


def check_rows(request: pb.FollowRowsRequest) -> None:
    """Refuse rows that are no rows of the table, or too many.

    Raises:
        InvalidRequestError: Names the field.
    """
    _require_table(request.table)
    fits = 0 < len(request.origin) <= _MAX_ORIGIN
    require(fits, "origin", f"must have 1 to {_MAX_ORIGIN} characters")
    names = [field.name for field, _ in request.rows.ListFields()]
    require(names in ([], [TABLES[request.table]]), "rows", "must be rows of the table")
    rows = getattr(request.rows, TABLES[request.table])
    for name, count in (
        ("rows", len(rows)),
        ("gone_ids", len(request.gone_ids)),
        ("refusals", len(request.refusals)),
    ):
        require(count <= MAX_ROWS, name, f"must be at most {MAX_ROWS}")
    require(len(request.digests) == len(rows), "digests", "must be one for each row")
    longest = max(map(len, request.digests), default=0)
    require(longest <= _MAX_DIGEST, "digests", f"must have at most {_MAX_DIGEST} characters")


def _require_table(table: int) -> None:
    require(table in TABLES, "table", "is not followed")
