"""Sends rows that changed to the assistants service."""

from collections.abc import Iterator, Sequence

import structlog
from google.protobuf.message import Message
from heddle.assistant.v1 import following_pb2 as pb
from heddle.assistant.v1 import rows_pb2
from heddle.assistant.v1.following_pb2_grpc import FollowingServiceAsyncStub
from heddle_runtime.errors import HeddleError, from_status
from heddle_runtime.identity.service_credentials import ServiceCredentials

from heddle_migration_service.following.comparing import Batch
from heddle_migration_service.following.rows import Changed, Known, Source
from heddle_migration_service.lamb.organizations import make_unassigned
from heddle_migration_service.row_batches import RowBatches, ranges, row_batch
from heddle_migration_service.row_faults import isolated

log = structlog.get_logger(__name__)
_TIMEOUT_SECONDS = 120.0
_ORIGIN = "LAMB"
_MAX_ROWS = 250
_BEFORE_ALL = -(2**63)
_ChangedRow = tuple[Changed, Message]
_Refused = dict[int, tuple[Changed, str]]
"""By their ids, rows that cannot be followed, and why."""


class Applying:
    """Applies rows of one comparison."""

    def __init__(
        self,
        stub: FollowingServiceAsyncStub,
        credentials: ServiceCredentials,
        batches: RowBatches,
        claimant: str,
    ) -> None:
        self._stub = stub
        self._credentials = credentials
        self._batches = batches
        self._claimant = claimant
        self._logged: dict[tuple[str, int], str] = {}

    async def known(self, source: Source) -> Known:
        """Return which rows of a table are followed."""
        known = Known()
        after = _BEFORE_ALL
        while True:
            request = pb.ListFollowedRowsRequest(table=source.table, after_id=after)
            rows = (
                await self._credentials.call(self._stub.ListFollowedRows, request, _TIMEOUT_SECONDS)
            ).rows
            if not rows:
                return known
            known.digests.update({row.id: row.digest for row in rows if not row.gone})
            after = rows[-1].id

    async def apply(self, batch: Batch, known: Known) -> int:
        """Apply what changed in a table; return how many rows changed here."""
        await make_unassigned(self._batches, [message for _, message in batch.rows])
        refused = {each.id: (each, reason) for each, reason in batch.refused}
        count = 0
        # A row that is followed was imported before.
        new = [each for each in batch.rows if not known.digests.get(each[0].id)]
        for part in _parts(new):
            messages = [message for _, message in part]
            imported = await self._batches.import_rows(
                batch.source.kind.field, messages, dry_run=False
            )
            for (each, _), row in zip(part, imported, strict=True):
                count += row.outcome == rows_pb2.IMPORT_OUTCOME_INSERTED
                if row.HasField("error"):
                    refused[each.id] = each, from_status(row.error).message
        count += await self._follow(batch, known, refused)
        await self._refuse(batch.source, known, list(refused.values()))
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

    async def _follow(self, batch: Batch, known: Known, refused: _Refused) -> int:
        """Apply the rows that are not refused; add those that cannot be applied to `refused`."""
        is_shared = batch.source.table == pb.FOLLOWED_TABLE_ASSISTANTS

        async def send(part: Sequence[_ChangedRow]) -> Sequence[pb.AppliedRow]:
            shares = [pb.FollowedShares(users=batch.shares.get(each.id)) for each, _ in part]
            response = await self._send(
                batch.source,
                rows=row_batch(batch.source.kind.field, [message for _, message in part]),
                digests=[each.digest for each, _ in part],
                shares=shares if is_shared else (),
            )
            return response.rows

        def refuse(row: _ChangedRow, error: HeddleError) -> pb.AppliedRow:
            refused[row[0].id] = row[0], error.message
            return pb.AppliedRow(refusal=error.message)

        count = 0
        for part in _parts([each for each in batch.rows if each[0].id not in refused]):
            for (each, _), row in zip(part, await isolated(part, send, refuse), strict=True):
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
        request = pb.FollowRowsRequest(
            claimant=self._claimant,
            table=source.table,
            origin=_ORIGIN,
            **members,  # type: ignore[arg-type] # members of the message
        )
        response = await self._credentials.call(self._stub.FollowRows, request, _TIMEOUT_SECONDS)
        for row in response.rows:
            if row.note:
                log.warning("changed in LAMB and in Heddle", table=source.name, row=row.id)
            key = (source.name, row.id)
            if row.refusal and self._logged.get(key) != row.refusal:
                log.warning("row not followed", table=source.name, row=row.id, cause=row.refusal)
                self._logged[key] = row.refusal
        return response


def _parts(rows: Sequence[_ChangedRow]) -> Iterator[Sequence[_ChangedRow]]:
    """Yield parts that fit a request each."""
    for start, end in ranges([message for _, message in rows], _MAX_ROWS):
        yield rows[start:end]
