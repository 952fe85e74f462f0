"""Responses: stored with their items, and the context of new ones."""

from typing import Any

from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_runtime.errors import AlreadyExistsError
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.conversations.items import (
    COLUMNS,
    Line,
    add,
    documents_of,
    is_id,
    message,
    missing,
    path,
    remove,
    single,
)
from heddle_assistants.conversations.owners import AnyRow, Owner, Owners, now, writing
from heddle_assistants.conversations.store import extend, find, row_of
from heddle_assistants.database.schema import conversation_items, responses
from heddle_assistants.field_checks import require

_RUNNING = ("queued", "in_progress")
_STATUSES = (*_RUNNING, "completed", "incomplete", "failed", "cancelled")
SILENCE = 60
"""Seconds after which a running response that is not replaced has failed."""
INTERRUPTED = "failed"


class Answers:
    """Reads and writes the responses of the caller."""

    def __init__(self, database: Database, owners: Owners) -> None:
        self._database = database
        self._owners = owners

    async def put(self, request: pb.PutResponseRequest) -> pb.PutResponseResponse:
        """Store or replace a response; return the status that is stored."""
        response = request.response
        require(is_id(response.id), "response.id", "must be letters, digits, _ and -")
        require(response.status in _STATUSES, "response.status", f"must be of {_STATUSES}")
        documents = documents_of(request.input, "input") + documents_of(request.output, "output")
        async with writing(self._database, self._owners) as (connection, owner):
            query = select(responses).where(owner.of(responses), responses.c.id == response.id)
            known = (await connection.execute(query)).one_or_none()
            if known is not None and known.status not in _RUNNING:
                return pb.PutResponseResponse(status=known.status)
            conversation = None
            if identifier := response.conversation:
                conversation = await find(connection, owner, identifier)
            parent = (
                known.last_item
                if known
                else await _parent(connection, owner, request, conversation)
            )
            line = Line(response.conversation, response.id, parent)
            time = now()
            last = parent
            if known is None:
                last = await add(connection, owner, line, request.input, time)
            after = line._replace(parent=last)
            last = await add(connection, owner, after, request.output, time, is_input=False)
            await _write(connection, owner, response, last, time, is_new=known is None)
            stored = pb.PutResponseResponse(status=response.status)
            if conversation is not None:
                stored.untitled = await extend(
                    connection, owner, conversation, last, documents, request.assistant
                )
            return stored

    async def get(self, identifier: str, *, with_events: bool) -> pb.GetResponseResponse:
        """Return a response with its output."""
        async with self._database.reading() as connection:
            owner = await self._owners.find(connection)
            row = await row_of(connection, owner, responses, "response", identifier)
            assert owner is not None  # noqa: S101 - something of the caller was found
            items = conversation_items.c
            query = select(*COLUMNS).where(items.response_id == identifier, ~items.is_input)
            output = [
                message(owner, each)
                for each in await connection.execute(query.order_by(items.position))
            ]
        silent = row.status in _RUNNING and row.updated_at < now() - SILENCE
        response = pb.Response(
            id=row.id,
            document_json=owner.sealing.open(row.body, row.id).decode(),
            status=INTERRUPTED if silent else row.status,
            conversation=row.conversation_id,
        )
        if with_events and row.events is not None:
            response.events = owner.sealing.unpack(row.events, row.id)
        return pb.GetResponseResponse(response=response, output=output)

    async def delete(self, identifier: str) -> None:
        """Delete a response."""
        async with writing(self._database, self._owners) as (connection, owner):
            await row_of(connection, owner, responses, "response", identifier)
            await _join(connection, owner, identifier)
            owner.items -= await remove(connection, response_ids=[identifier])

    async def context(self, request: pb.GetContextRequest) -> pb.GetContextResponse:
        """Return the items before a turn, and single items."""
        result = pb.GetContextResponse()
        async with self._database.reading() as connection:
            owner = await self._owners.find(connection)
            last = await _last(connection, owner, request)
            if owner is None:
                return result
            if last:
                result.items.extend(await path(connection, owner, last))
            if request.ids:
                result.single_items.extend(await single(connection, owner, request.ids))
        return result


async def _join(connection: AsyncConnection, owner: Owner, identifier: str) -> None:
    """Let what follows the items of a response follow what is before them."""
    items = conversation_items.c
    own = (items.response_id == identifier) & (items.conversation_id == "")
    first = select(items.parent).where(own).order_by(items.position).limit(1)
    ids = select(items.id).where(own)
    later = owner.of(conversation_items) & items.parent.in_(ids) & (items.response_id != identifier)
    parent = await connection.scalar(first) or ""
    await connection.execute(update(conversation_items).where(later).values(parent=parent))


async def _last(
    connection: AsyncConnection, owner: Owner | None, request: pb.GetContextRequest
) -> str:
    match request.WhichOneof("follows"):
        case "conversation":
            row = await find(connection, owner, request.conversation)
            assert owner is not None  # noqa: S101 - something of the caller was found
            if not request.HasField("after"):
                return str(row.last_item)
            if request.after:
                await _check_item(connection, owner, request.after, row.id)
            return request.after
        case "response":
            row = await row_of(connection, owner, responses, "response", request.response)
            return str(row.last_item)
        case _:
            return ""


async def _parent(
    connection: AsyncConnection,
    owner: Owner,
    request: pb.PutResponseRequest,
    conversation: AnyRow | None,
) -> str:
    if request.after:
        identifier = conversation.id if conversation is not None else None
        await _check_item(connection, owner, request.after, identifier)
    if request.HasField("after") or conversation is None:
        return request.after
    return str(conversation.last_item)


async def _check_item(
    connection: AsyncConnection, owner: Owner, identifier: str, conversation: str | None
) -> None:
    items = conversation_items.c
    query = select(items.id).where(owner.of(conversation_items), items.id == identifier)
    if conversation is not None:
        query = query.where(items.conversation_id == conversation)
    if not is_id(identifier) or await connection.scalar(query) is None:
        raise missing("item", identifier)


async def _write(
    connection: AsyncConnection,
    owner: Owner,
    response: pb.Response,
    last: str,
    time: int,
    *,
    is_new: bool,
) -> None:
    seal = owner.sealing.seal
    values: dict[str, Any] = {
        "updated_at": time,
        "status": response.status,
        "last_item": last,
        "body": seal(response.document_json.encode(), response.id),
    }
    if response.events:
        values["events"] = owner.sealing.pack(response.events, response.id)
    if not is_new:
        query = update(responses).where(responses.c.id == response.id)
        await connection.execute(query.values(**values))
        return
    values |= owner.row(response.id, time) | {"conversation_id": response.conversation}
    try:
        await connection.execute(insert(responses).values(**values))
    except IntegrityError:
        raise AlreadyExistsError("A response of this id is stored already.") from None
