"""`heddle.conversation.v1.ConversationService`: responses, and the context of new ones."""

from collections.abc import Sequence
from typing import Any

from heddle.conversation.v1 import conversation_pb2 as pb
from heddle.conversation.v1 import conversation_pb2_grpc as pb_grpc
from heddle_runtime.errors import NotSetUpError
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.storage.database.prepared import Call, Prepared, Values, execute
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.conversations.items import (
    COLUMNS,
    INSERT,
    MAX_ITEMS,
    Documents,
    Line,
    documents_of,
    is_id,
    make_room,
    message,
    missing,
    path,
    remove,
    rows_of,
    single,
    store,
)
from heddle_assistants.conversations.owners import AnyRow, Owner, now, writing
from heddle_assistants.conversations.store import Conversations, extended, find_open, row_of
from heddle_assistants.conversations.words import texts_of
from heddle_assistants.database.schema import conversation_items, conversations, responses
from heddle_assistants.field_checks import require
from heddle_assistants.insights.copies import copying
from heddle_assistants.insights.counting import adding

_RESPONSE = Prepared(
    select(
        *(responses.c[name] for name in ("organization_id", "owner_email", "status", "last_item"))
    ).where(responses.c.id == bindparam("id"))
)
_CONVERSATION = Prepared(
    select(conversations).where(conversations.c.id == bindparam("conversation"))
)
_AFTER = Prepared(
    select(
        conversation_items.c.organization_id,
        conversation_items.c.owner_email,
        conversation_items.c.conversation_id,
    ).where(conversation_items.c.id == bindparam("after"))
)
_CHANGING = ("updated_at", "status", "last_item", "body", "events")
_INSERT = Prepared(
    insert(responses),
    (*("id", "organization_id", "owner_email", "created_at", "conversation_id"), *_CHANGING),
)
_REPLACE = Prepared(
    update(responses)
    .where(responses.c.id == bindparam("key"))
    .values({name: bindparam(name) for name in _CHANGING})
)
_RUNNING = ("queued", "in_progress")
_STATUSES = (*_RUNNING, "completed", "incomplete", "failed", "cancelled")
_COUNTED = ("completed", "incomplete", "failed")
SILENCE = 60
"""Seconds after which a running response that is not replaced has failed."""
INTERRUPTED = "failed"


class ConversationServicer(Conversations, pb_grpc.ConversationServiceServicer):
    """Reads and writes the conversations and responses of the caller."""

    async def PutResponse(
        self, request: pb.PutResponseRequest, context: Context
    ) -> pb.PutResponseResponse:
        """Store or replace a response, and count it when it ends; return the stored status.

        What is not stored, because the organisation stores nothing, is counted too.
        """
        response = request.response
        require(is_id(response.id), "response.id", "must be letters, digits, _ and -")
        require(response.status in _STATUSES, "response.status", f"must be of {_STATUSES}")
        output = documents_of(request.output, "output")
        documents = documents_of(request.input, "input") + output
        counted = None
        if response.status in _COUNTED:
            counted = await self._counting.answer(request, output)
        try:
            return await self._put(request, documents, counted)
        except NotSetUpError:
            if counted:
                async with self._database.writing() as connection:
                    await execute(connection, *adding(connection, counted))
            raise

    async def _put(
        self, request: pb.PutResponseRequest, documents: Documents, counted: Values | None
    ) -> pb.PutResponseResponse:
        response = request.response
        place = {
            "id": response.id,
            "conversation": response.conversation,
            "after": request.after,
        }
        async with self._database.writing() as connection:
            owner, read = await self._owners.locked(
                connection, *((query, place) for query in (_RESPONSE, _CONVERSATION, _AFTER))
            )
            known, conversation, after = (_own(owner, rows) for rows in read)
            if known is not None and known.status not in _RUNNING:
                return pb.PutResponseResponse(status=known.status)
            if conversation is None and response.conversation:
                raise missing("conversation", response.conversation)
            parent = known.last_item if known else _parent(request, conversation, after)
            line = Line(response.conversation, response.id, parent)
            time = now()
            rows = [] if known else rows_of(owner, line, request.input, time)
            later = line._replace(parent=rows[-1]["id"] if rows else parent)
            rows += rows_of(owner, later, request.output, time, is_input=False)
            last = rows[-1]["id"] if rows else parent
            calls: list[Call] = [(INSERT, rows)] if rows else []
            values = _values(owner, response, time) | {"last_item": last}
            calls.append((_REPLACE if known else _INSERT, values))
            stored = pb.PutResponseResponse(status=response.status)
            if conversation is not None:
                extension, stored.untitled = extended(
                    owner, conversation, last, documents, request.assistant
                )
                calls.append(extension)
            calls += adding(connection, counted)
            if counted and request.informed and owner.questions_read:
                messages = (each for each in documents if each.get("role") == "user")
                calls += copying(
                    counted, response, (text for each in messages for text in texts_of(each))
                )
            await store(connection, *calls, owner.counters())
            if owner.items > MAX_ITEMS:
                await make_room(connection, owner, line)
                await execute(connection, owner.counters())
            return stored

    async def GetResponse(
        self, request: pb.GetResponseRequest, context: Context
    ) -> pb.GetResponseResponse:
        """Return a response with its output."""
        identifier = request.id
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
        if request.with_events and row.events is not None:
            response.events = owner.sealing.unpack(row.events, row.id)
        return pb.GetResponseResponse(response=response, output=output)

    async def DeleteResponse(
        self, request: pb.DeleteResponseRequest, context: Context
    ) -> pb.DeleteResponseResponse:
        """Delete a response."""
        async with writing(self._database, self._owners) as (connection, owner):
            await row_of(connection, owner, responses, "response", request.id)
            await _join(connection, owner, request.id)
            owner.items -= await remove(connection, response_ids=[request.id])
        return pb.DeleteResponseResponse()

    async def GetContext(
        self, request: pb.GetContextRequest, context: Context
    ) -> pb.GetContextResponse:
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
            row = await find_open(connection, owner, request.conversation)
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


def _own(owner: Owner, rows: Sequence[AnyRow]) -> AnyRow | None:
    return rows[0] if rows and owner.owns(rows[0]) else None


def _parent(
    request: pb.PutResponseRequest, conversation: AnyRow | None, after: AnyRow | None
) -> str:
    """Return the item that the input of a new response follows."""
    if request.after:
        there = conversation.id if conversation is not None else None
        if after is None or there not in (None, after.conversation_id):
            raise missing("item", request.after)
    if request.HasField("after") or conversation is None:
        return request.after
    return str(conversation.last_item)


async def _check_item(
    connection: AsyncConnection, owner: Owner, identifier: str, conversation: str
) -> None:
    items = conversation_items.c
    query = select(items.id).where(
        owner.of(conversation_items),
        items.id == identifier,
        items.conversation_id == conversation,
    )
    if not is_id(identifier) or await connection.scalar(query) is None:
        raise missing("item", identifier)


def _values(owner: Owner, response: pb.Response, time: int) -> dict[str, Any]:
    """Return the columns of a response without its last item."""
    sealing, events = owner.sealing, response.events
    return owner.row(response.id, time) | {
        "key": response.id,
        "updated_at": time,
        "conversation_id": response.conversation,
        "status": response.status,
        "body": sealing.seal(response.document_json.encode(), response.id),
        "events": sealing.pack(events, response.id) if events else None,
    }
