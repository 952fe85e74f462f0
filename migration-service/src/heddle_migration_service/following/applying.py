"""Sends rows that changed to the assistants service."""

import time
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import grpc
import structlog
from google.protobuf.message import Message
from heddle.assistant.v1 import following_pb2 as pb
from heddle.assistant.v1 import rows_pb2
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.errors import from_rpc, from_status
from heddle_runtime.service_credentials import ServiceCredentials

from heddle_migration_service.following.comparing import Batch
from heddle_migration_service.following.rows import Changed, Known, Source
from heddle_migration_service.lamb.organizations import unassigned
from heddle_migration_service.row_batches import RowBatches, ranges

if TYPE_CHECKING:
    from heddle.assistant.v1.following_pb2_grpc import FollowingServiceAsyncStub

log = structlog.get_logger(__name__)
_TIMEOUT_SECONDS = 120.0
_MAX_ROWS = 250
ResponseT = TypeVar("ResponseT")


class Applying:
    """Applies rows of one comparison."""

    def __init__(
        self,
        stub: "FollowingServiceAsyncStub",
        credentials: ServiceCredentials,
        batches: RowBatches,
        claimant: str,
    ) -> None:
        self._stub = stub
        self._credentials = credentials
        self._batches = batches
        self._claimant = claimant
        self._has_unassigned = False
        self._logged: dict[tuple[str, int], str] = {}

    async def known(self, source: Source) -> Known:
        """Return which rows of a table are followed."""
        known = Known()
        after = 0
        while True:
            request = pb.ListFollowedRowsRequest(table=source.table, after_id=after)
            rows = (await self._call(self._stub.ListFollowedRows, request)).rows
            if not rows:
                return known
            known.digests.update({row.id: row.digest for row in rows if not row.gone})
            after = rows[-1].id

    async def apply(self, batch: Batch, known: Known) -> int:
        """Apply what changed in a table; return how many rows changed here."""
        if batch.has_unassigned and not self._has_unassigned:
            await self._import(rows_pb2.RowBatch(organizations=[unassigned(int(time.time()))]))
            self._has_unassigned = True
        refused = list(batch.refused)
        count = 0
        # A row that is followed was imported before.
        new = [each for each in batch.rows if not known.digests.get(each[0].id)]
        for part in _parts(new):
            imported = await self._import(_row_batch(batch.source, part))
            for (each, _), row in zip(part, imported, strict=True):
                count += row.outcome == rows_pb2.IMPORT_OUTCOME_INSERTED
                if row.HasField("error"):
                    refused.append((each, from_status(row.error).message))
        count += await self._follow(batch, known, {each.id for each, _ in refused})
        await self._refuse(batch.source, known, refused)
        return count + await self._remove(batch.source, known, batch.gone)

    async def _remove(self, source: Source, known: Known, ids: Sequence[int]) -> int:
        count = 0
        for start in range(0, len(ids), _MAX_ROWS):
            part = ids[start : start + _MAX_ROWS]
            response = await self._send(source, gone_ids=part)
            for row in response.rows:
                known.fingerprints.pop(row.id, None)
                known.digests.pop(row.id, None)
                count += row.changed
        return count

    async def _follow(self, batch: Batch, known: Known, refused: Container[int]) -> int:
        count = 0
        is_shared = batch.source.table == pb.FOLLOWED_TABLE_ASSISTANTS
        for part in _parts([each for each in batch.rows if each[0].id not in refused]):
            shares = [pb.FollowedShares(users=batch.shares.get(each.id)) for each, _ in part]
            response = await self._send(
                batch.source,
                rows=_row_batch(batch.source, part),
                digests=[each.digest for each, _ in part],
                shares=shares if is_shared else (),
            )
            for (each, _), row in zip(part, response.rows, strict=True):
                (known.refuse if row.refusal else known.accept)(each)
                count += row.changed
        return count

    async def _refuse(
        self, source: Source, known: Known, refused: Sequence[tuple[Changed, str]]
    ) -> None:
        for start in range(0, len(refused), _MAX_ROWS):
            part = refused[start : start + _MAX_ROWS]
            refusals = [pb.FollowedRefusal(id=each.id, reason=reason) for each, reason in part]
            await self._send(source, refusals=refusals)
            for each, _ in part:
                known.refuse(each)

    async def _send(self, source: Source, **members: object) -> pb.FollowRowsResponse:
        request = pb.FollowRowsRequest(claimant=self._claimant, table=source.table, **members)  # type: ignore[arg-type] # members of the message
        response = await self._call(self._stub.FollowRows, request)
        for row in response.rows:
            if row.note:
                log.warning("changed in LAMB and in Heddle", table=source.name, row=row.id)
            key = (source.name, row.id)
            if row.refusal and self._logged.get(key) != row.refusal:
                log.warning("row not followed", table=source.name, row=row.id, cause=row.refusal)
                self._logged[key] = row.refusal
        return response

    async def _import(self, batch: rows_pb2.RowBatch) -> Sequence[rows_pb2.ImportedRow]:
        return await self._batches.import_rows(batch, rows_pb2.RowBatch(), dry_run=False)

    async def _call(
        self, method: Callable[..., Awaitable[ResponseT]], request: Message
    ) -> ResponseT:
        try:
            with self._credentials.as_service():
                return await method(request, **new_call_options(_TIMEOUT_SECONDS))
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error


def _parts(
    rows: Sequence[tuple[Changed, Message]],
) -> Iterator[Sequence[tuple[Changed, Message]]]:
    """Yield parts that fit a request each."""
    for start, end in ranges([message for _, message in rows], _MAX_ROWS):
        yield rows[start:end]


def _row_batch(source: Source, rows: Sequence[tuple[Changed, Message]]) -> rows_pb2.RowBatch:
    batch = rows_pb2.RowBatch()
    field = source.kind.field if source.kind else "organizations"
    getattr(batch, field).extend(message for _, message in rows)
    return batch
