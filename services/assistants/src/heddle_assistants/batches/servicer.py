"""Batches: stored until they end, with the results of their lines, and claimed by gateways."""

import json
from collections.abc import Sequence
from typing import Any

from heddle.conversation.v1 import batches_pb2 as pb
from heddle.conversation.v1 import batches_pb2_grpc as pb_grpc
from heddle_conversion.identifiers import timestamp
from heddle_runtime.contract.limits import MAX_BATCH_LINES
from heddle_runtime.contract.paging import page_size
from heddle_runtime.errors import ConflictError, ResourceExhaustedError
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.permissions import require_service, scopes_of
from heddle_runtime.storage.database.claims import CLAIM_SECONDS, seconds_now
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.conversations.items import is_id
from heddle_assistants.conversations.owners import AnyRow, Owner, Owners, now
from heddle_assistants.conversations.store import row_of
from heddle_assistants.database.schema import batch_results, batches, users
from heddle_assistants.field_checks import require

MAX_RUNNING = 10
"""The maximum number of batches of a person that have not ended."""
MAX_DOCUMENT_CHARACTERS = 64 * 1024
BATCH_DAYS = 30
_DAY = 86_400
_RUNNING = ("in_progress", "cancelling")
_ENDINGS = ("completed", "failed", "expired", "cancelled")
_RESULTS = 200  # of a page
_C, _R = batches.c, batch_results.c


class BatchServicer(pb_grpc.BatchServiceServicer):
    """Stores the batches of callers. Those of others are missing (`NotFoundError`)."""

    def __init__(self, database: Database, owners: Owners) -> None:
        self._database = database
        self._owners = owners

    async def CreateBatch(
        self, request: pb.CreateBatchRequest, context: Context
    ) -> pb.CreateBatchResponse:
        """Store a batch.

        Raises:
            ResourceExhaustedError: Too many have not ended.
            NotSetUpError: The organisation stores nothing.
        """
        batch, identity = request.batch, caller().identity
        check(batch)
        async with self._database.writing() as connection:
            owner, _ = await self._owners.locked(connection)
            running = select(func.count()).where(owner.of(batches), _C.status.in_(_RUNNING))
            check_running(1 + (await connection.scalar(running) or 0))
            values = {
                **owner.row(batch.id, now()),
                "position": 1 + (await connection.scalar(select(func.max(_C.position))) or 0),
                "status": batch.status,
                "line_count": batch.line_count,
                "organization": identity.organization,
                "scopes": " ".join(identity.scopes),
                "key_id": identity.key_id,
                "body": owner.sealing.seal(batch.document_json.encode(), batch.id),
            }
            row = (await connection.execute(insert(batches).values(values).returning(*_C))).one()
        return pb.CreateBatchResponse(batch=_batch(owner, row))

    async def GetBatch(self, request: pb.GetBatchRequest, context: Context) -> pb.GetBatchResponse:
        """Return a batch."""
        async with self._database.reading() as connection:
            owner, row = await self._row(connection, request.id)
        return pb.GetBatchResponse(batch=_batch(owner, row))

    async def ListBatches(
        self, request: pb.ListBatchesRequest, context: Context
    ) -> pb.ListBatchesResponse:
        """List batches."""
        limit = page_size(request.limit, 20, 100)
        async with self._database.reading() as connection:
            if (owner := await self._owners.find(connection)) is None:
                return pb.ListBatchesResponse()
            query = select(batches).where(owner.of(batches)).order_by(_C.position.desc())
            if request.after:
                _, row = await self._row(connection, request.after)
                query = query.where(_C.position < row.position)
            rows = (await connection.execute(query.limit(limit + 1))).all()
        shown = [_batch(owner, row) for row in rows[:limit]]
        return pb.ListBatchesResponse(batches=shown, has_more=len(rows) > limit)

    async def CancelBatch(
        self, request: pb.CancelBatchRequest, context: Context
    ) -> pb.CancelBatchResponse:
        """Let a batch end."""
        async with self._database.writing() as connection:
            owner, row = await self._row(connection, request.id, lock=True)
            if row.status in _RUNNING:
                row = await _changed(connection, row, status="cancelling")
        return pb.CancelBatchResponse(batch=_batch(owner, row))

    async def ClaimBatch(
        self, request: pb.ClaimBatchRequest, context: Context
    ) -> pb.ClaimBatchResponse:
        """Claim a batch."""
        require_service(caller().identity)
        query = select(batches).where(_C.status.in_(_RUNNING)).order_by(_C.position).limit(1)
        async with self._database.reading() as connection:  # mostly there is none
            free = _C.claimed_until < await seconds_now(connection)
            if (await connection.execute(query.where(free))).first() is None:
                return pb.ClaimBatchResponse()
        async with self._database.writing() as connection:
            time = await seconds_now(connection)
            locked = query.where(_C.claimed_until < time).with_for_update(skip_locked=True)
            if (row := (await connection.execute(locked)).first()) is None:
                return pb.ClaimBatchResponse()
            owner = await self._owners.of(connection, row.organization_id, row.owner_email)
            assert owner is not None  # noqa: S101 - it is deleted with the batches
            until = time + CLAIM_SECONDS
            row = await _changed(connection, row, claimant=request.claimant, claimed_until=until)
            return await _claimed(connection, owner, row)

    async def ReportBatch(
        self, request: pb.ReportBatchRequest, context: Context
    ) -> pb.ReportBatchResponse:
        """Store results, and the end of a batch.

        Raises:
            ConflictError: Another process has claimed it, or it has ended.
        """
        require(request.ending in ("", *_ENDINGS), "ending", f"must be of {_ENDINGS}")
        async with self._database.writing() as connection:
            owner, row = await self._row(connection, request.id, lock=True)
            of_batch = all(0 <= each.line < row.line_count for each in request.results)
            require(of_batch, "results.line", "must be a line of the batch")
            if row.status not in _RUNNING or row.claimant != request.claimant:
                raise ConflictError("Another process has claimed the batch, or it has ended.")
            until = 0 if request.release else await seconds_now(connection) + CLAIM_SECONDS
            values: dict[str, Any] = {"claimed_until": until}
            values |= await _add(connection, owner, row, request.results)
            if request.document_json:
                _check_document(request.document_json)
                values["body"] = owner.sealing.seal(request.document_json.encode(), row.id)
            if request.ending:
                values["status"] = request.ending
                await connection.execute(delete(batch_results).where(_R.batch_id == row.id))
            row = await _changed(connection, row, **values)
        return pb.ReportBatchResponse(batch=_batch(owner, row))

    async def ListBatchResults(
        self, request: pb.ListBatchResultsRequest, context: Context
    ) -> pb.ListBatchResultsResponse:
        """List results."""
        async with self._database.reading() as connection:
            owner, row = await self._row(connection, request.id)
            query = (
                select(*(_R if not request.without_documents else (_R.line, _R.failed)))
                .where(_R.batch_id == row.id, _R.line >= request.from_line)
                .order_by(_R.line)
            )
            query = query if request.without_documents else query.limit(_RESULTS)
            rows = (await connection.execute(query)).all()
        results = [pb.BatchResult(line=each.line, failed=each.failed) for each in rows]
        if not request.without_documents:
            for result, each in zip(results, rows, strict=True):
                result.document_json = owner.sealing.open(each.body, each.id).decode()
        return pb.ListBatchResultsResponse(results=results)

    async def _row(
        self, connection: AsyncConnection, identifier: str, *, lock: bool = False
    ) -> tuple[Owner, AnyRow]:
        """Return a batch of the caller. Raises as `row_of`."""
        owner = await self._owners.find(connection)
        row = await row_of(connection, owner, batches, "batch", identifier)
        assert owner is not None  # noqa: S101 - `row_of` needs one
        if lock:
            query = select(batches).where(_C.id == row.id).with_for_update()
            row = (await connection.execute(query)).one()
        return owner, row


async def expire(database: Database) -> None:
    """Delete batches after their days."""
    old = select(_C.id).where(_C.created_at < now() - BATCH_DAYS * _DAY)
    async with database.writing() as connection:
        await connection.execute(delete(batch_results).where(_R.batch_id.in_(old)))
        await connection.execute(delete(batches).where(_C.id.in_(old)))


def check(batch: pb.Batch) -> None:
    """Refuse a batch that cannot begin.

    Raises:
        InvalidRequestError: It cannot.
    """
    require(is_id(batch.id), "batch.id", "must be letters, digits, _ and -")
    require(batch.status in ("in_progress", "failed"), "batch.status", "must be one to begin")
    fits = 0 <= batch.line_count <= MAX_BATCH_LINES
    require(fits, "batch.line_count", f"must be {MAX_BATCH_LINES} at most")
    _check_document(batch.document_json)


def check_running(count: int) -> None:
    """Refuse a number of batches that would not have ended.

    Raises:
        ResourceExhaustedError: There are too many.
    """
    if count > MAX_RUNNING:
        raise ResourceExhaustedError(
            f"{MAX_RUNNING} of your batches have not ended, the most that are allowed."
        )


async def _claimed(connection: AsyncConnection, owner: Owner, row: AnyRow) -> pb.ClaimBatchResponse:
    """Return a claimed batch with the identity of its owner, as far as it is valid now."""
    person = select(users.c.enabled, users.c.role).where(
        users.c.organization_id == row.organization_id, users.c.email == row.owner_email
    )
    user = (await connection.execute(person)).one_or_none()
    scopes = row.scopes.split()
    if user is not None:
        scopes = [each for each in scopes if each in scopes_of(user.role)]
    return pb.ClaimBatchResponse(
        batch=_batch(owner, row),
        owner=row.owner_email,
        organization=row.organization,
        scopes=scopes,
        key_id=row.key_id,
        disabled=user is not None and not user.enabled,
    )


async def _add(
    connection: AsyncConnection, owner: Owner, row: AnyRow, results: Sequence[pb.BatchResult]
) -> dict[str, int]:
    """Store results that are new, and return the new counts."""
    added = {False: 0, True: 0}
    for each in results:
        identifier = f"{row.id}:{each.line}"
        new = insertion(connection, batch_results).values(
            **owner.row(identifier, now()),
            batch_id=row.id,
            line=each.line,
            failed=each.failed,
            body=owner.sealing.seal(each.document_json.encode(), identifier),
        )
        stored = await connection.execute(new.on_conflict_do_nothing().returning(_R.line))
        added[each.failed] += len(stored.all())
    return {
        "completed_count": row.completed_count + added[False],
        "failed_count": row.failed_count + added[True],
    }


async def _changed(connection: AsyncConnection, row: AnyRow, **values: object) -> AnyRow:
    query = update(batches).where(_C.id == row.id).values(values).returning(*_C)
    return (await connection.execute(query)).one()


def _check_document(document: str) -> None:
    fits = len(document) <= MAX_DOCUMENT_CHARACTERS
    require(fits, "document_json", f"must have at most {MAX_DOCUMENT_CHARACTERS} characters")
    try:
        valid = isinstance(json.loads(document), dict)
    except ValueError:
        valid = False
    require(valid, "document_json", "must be a JSON object")


def _batch(owner: Owner, row: AnyRow) -> pb.Batch:
    return pb.Batch(
        id=row.id,
        document_json=owner.sealing.open(row.body, row.id).decode(),
        status=row.status,
        line_count=row.line_count,
        completed_count=row.completed_count,
        failed_count=row.failed_count,
        create_time=timestamp(row.created_at),
    )
