"""Rows that an import stores one after another, by the calls that people make."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

import grpc
from google.protobuf.message import Message
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import HeddleError, from_rpc, to_status
from heddle_runtime.identity.call_metadata import calling_as, new_call_options, on_behalf_of
from heddle_runtime.identity.callers import ADMIN, Identity

from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

_TIMEOUT_SECONDS = 30.0
_MAX_NAME = 200
ResponseT = TypeVar("ResponseT")


async def stored_rows(
    tables: LambTables,
    table: str,
    columns: Sequence[str],
    store: Callable[[LambRow], Awaitable[bool]],
) -> AsyncGenerator[pb.RunMigrationResponse]:
    """Store the rows of a table, and yield the progress.

    Args:
        tables: LAMB's tables.
        table: The name of this one. If LAMB lacks it, nothing is reported.
        columns: What is read besides the id. People know a row by the first one.
        store: Stores a row, and returns whether it is new. It adds notes to the row.
    """
    progress = pb.Progress(total=await tables.count(table))
    if not await tables.columns(table):
        return
    async with aclosing(tables.batches(table, columns)) as batches:
        async for rows in batches:
            findings = list[pb.Finding]()
            for row in rows:
                name = (row.text(columns[0]) or "")[:_MAX_NAME]
                finding = pb.Finding(id=row.text("id") or "", name=name)
                try:
                    is_new = await store(row)
                except HeddleError as error:
                    progress.refused += 1
                    finding.error.CopyFrom(to_status(error))
                    wrong = (f" {it.field} {it.description}." for it in error.violations)
                    finding.error.message += "".join(wrong)
                else:
                    progress.changed += is_new
                    progress.unchanged += not is_new
                finding.notes.extend(row.notes)
                if finding.notes or finding.HasField("error"):
                    findings.append(finding)
            yield pb.RunMigrationResponse(table=table, progress=progress, findings=findings)
    if not progress.total:
        yield pb.RunMigrationResponse(table=table, progress=progress)


async def as_owner(
    owner: str,
    organization: str,
    method: Callable[..., Awaitable[ResponseT]],
    request: Message,
    scopes: Sequence[str] = (ADMIN,),
) -> ResponseT:
    """Call a service in the name of a user, with the rights that an import needs.

    Raises:
        HeddleError: The call fails.
    """
    with calling_as(on_behalf_of(Identity(owner, organization, tuple(scopes)))):
        try:
            return await method(request, **new_call_options(_TIMEOUT_SECONDS))
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
