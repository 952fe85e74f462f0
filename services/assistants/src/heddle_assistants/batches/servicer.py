"""`heddle.conversation.v1.BatchService`."""

from heddle.conversation.v1 import batches_pb2 as pb
from heddle.conversation.v1 import batches_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.permissions import require_service

from heddle_assistants.batches.store import Batches


class BatchServicer(pb_grpc.BatchServiceServicer):
    """Passes calls on to the tables."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    async def CreateBatch(
        self, request: pb.CreateBatchRequest, context: Context
    ) -> pb.CreateBatchResponse:
        """Store a batch."""
        return await self._batches.create(request)

    async def GetBatch(self, request: pb.GetBatchRequest, context: Context) -> pb.GetBatchResponse:
        """Return a batch."""
        return await self._batches.get(request)

    async def ListBatches(
        self, request: pb.ListBatchesRequest, context: Context
    ) -> pb.ListBatchesResponse:
        """List batches."""
        return await self._batches.page(request)

    async def CancelBatch(
        self, request: pb.CancelBatchRequest, context: Context
    ) -> pb.CancelBatchResponse:
        """Let a batch end."""
        return await self._batches.cancel(request)

    async def ClaimBatch(
        self, request: pb.ClaimBatchRequest, context: Context
    ) -> pb.ClaimBatchResponse:
        """Claim a batch."""
        require_service(caller().identity)
        return await self._batches.claim(request)

    async def ReportBatch(
        self, request: pb.ReportBatchRequest, context: Context
    ) -> pb.ReportBatchResponse:
        """Store results."""
        return await self._batches.report(request)

    async def ListBatchResults(
        self, request: pb.ListBatchResultsRequest, context: Context
    ) -> pb.ListBatchResultsResponse:
        """List results."""
        return await self._batches.results(request)
