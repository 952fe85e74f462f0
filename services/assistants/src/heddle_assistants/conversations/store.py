"""Conversations: made, listed, searched, changed and deleted by their owners."""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_runtime.contract.paging import page_size, read_token, write_token
from heddle_runtime.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    PermissionDeniedError,
    Violation,
)
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.prepared import Call, Prepared, execute
from sqlalchemy import Table, bindparam, insert, literal, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.conversations.items import (
    COLUMNS,
    Documents,
    Line,
    add,
    documents_of,
    is_id,
    message,
    missing,
    object_of,
    remove,
    remove_item,
    sealed_feedback,
)
from heddle_assistants.conversations.owners import AnyRow, Owner, Owners, now, writing
from heddle_assistants.conversations.words import extended as with_words
from heddle_assistants.conversations.words import matches, texts_of, words_of
from heddle_assistants.database.paging import check_length
from heddle_assistants.database.schema import conversation_items, conversations, responses
from heddle_assistants.field_checks import require
from heddle_assistants.insights.counting import Counting

_DAY = 86_400
_BATCH = 500
_MAX_TITLE = 200
_MAX_FEEDBACK = 2_000
_FIRST_TITLE = 60
MAX_NEW_ITEMS = 20
_MAX_SHORT_PAGE, _SHORT_PAGE = 100, 20
_FLAGS: tuple[Literal["pinned", "archived"], ...] = ("pinned", "archived")
_METADATA = (16, 64, 512)
READ_ONLY = "read_only"
AUTOMATIC = "automatic"
"""The member of the details that says whether the title was made of the first message."""
_C = conversations.c
_ORDER = (_C.pinned, _C.updated_at, _C.id)
_EXTENDED = ("last_item", "updated_at", "details", "words")
_EXTEND = Prepared(
    update(conversations)
    .where(_C.id == bindparam("key"))
    .values({name: bindparam(name) for name in _EXTENDED})
)


class Conversations:
    """Reads and writes the conversations of the caller."""

    def __init__(self, database: Database, owners: Owners, days: int, counting: Counting) -> None:
        """Take the days after which conversations of organisations that name none are deleted."""
        self._counting = counting
        self._database = database
        self._owners = owners
        self._days = days

    async def CreateConversation(
        self, request: pb.CreateConversationRequest, context: Context
    ) -> pb.CreateConversationResponse:
        """Store a new conversation."""
        conversation, items, origin = request.conversation, request.items, request.origin
        check(conversation)
        is_imported = request.HasField("origin")
        documents = documents_of(items, "items") if is_imported else new_items(items)
        identifier, time = f"conv_{secrets.token_hex(16)}", now()
        created_at = origin.create_time.seconds or time
        updated_at = origin.update_time.seconds or created_at
        details = _details(conversation)
        async with writing(self._database, self._owners) as (connection, owner):
            if is_imported:
                details[READ_ONLY] = True
                identifier = await self._imported(connection, owner, origin.id, updated_at)
            last = await add(connection, owner, Line(identifier, "", ""), items, updated_at)
            values = owner.row(identifier, created_at) | {
                "updated_at": updated_at,
                "pinned": conversation.pinned,
                "archived": conversation.archived,
                "last_item": last,
                **_sealed(owner, identifier, details, b"", documents),
            }
            await connection.execute(insert(conversations).values(**values))
            created = self._message(owner, await find(connection, owner, identifier))
        return pb.CreateConversationResponse(conversation=created)

    async def _imported(
        self, connection: AsyncConnection, owner: Owner, origin: str, updated_at: int
    ) -> str:
        """Return the identifier of a new conversation that took place elsewhere.

        Raises:
            AlreadyExistsError: The owner has it already.
            InvalidRequestError: It would expire at once.
        """
        days = self._days_of(owner)
        if updated_at + days * _DAY <= now():
            raise InvalidRequestError(
                f"It is older than the {days} days for which the organisation stores conversations."
            )
        place = f"{owner.organization_id} {owner.email} {origin}"
        identifier = f"conv_{hashlib.sha256(place.encode()).hexdigest()[:32]}"
        if await connection.scalar(select(_C.id).where(_C.id == identifier)):
            raise AlreadyExistsError("The conversation is stored already.")
        return identifier

    async def GetConversation(
        self, request: pb.GetConversationRequest, context: Context
    ) -> pb.GetConversationResponse:
        """Return a conversation."""
        async with self._database.reading() as connection:
            owner = await self._owners.find(connection)
            stored = self._message(owner, await find(connection, owner, request.id))
        return pb.GetConversationResponse(conversation=stored)

    async def ListConversations(
        self, request: pb.ListConversationsRequest, context: Context
    ) -> pb.ListConversationsResponse:
        """Return a page of those that contain a text."""
        check_length(request.text)
        size, after = page_size(request.page_size), _read_token(request.page_token)
        terms = [each.encode() for each in words_of(request.text)]
        page = pb.ListConversationsResponse()
        shown = page.conversations
        async with self._database.reading() as connection:
            owner = await self._owners.find(connection)
            if owner is None or (request.text and not terms):
                return page
            query = select(conversations).where(
                owner.of(conversations), _C.archived == request.archived
            )
            if request.HasField("pinned"):
                query = query.where(_C.pinned == request.pinned)
            query = query.order_by(*(each.desc() for each in _ORDER))
            while True:
                limit = _BATCH if terms else size + 1
                later = query.where(tuple_(*_ORDER) < tuple_(*after)) if after else query
                rows = (await connection.execute(later.limit(limit))).all()
                for row in rows:
                    if terms:
                        words = owner.sealing.open(row.words, row.id)
                        if not matches(terms, words, _opened(owner, row)["title"]):
                            continue
                    conversation = self._message(owner, row)
                    if len(shown) == size:
                        page.next_page_token = write_token(_token(shown[-1]))
                        return page
                    shown.append(conversation)
                if len(rows) < limit:
                    return page
                after = tuple(map(literal, (rows[-1].pinned, rows[-1].updated_at, rows[-1].id)))

    async def UpdateConversation(
        self, request: pb.UpdateConversationRequest, context: Context
    ) -> pb.UpdateConversationResponse:
        """Change members of a conversation."""
        _check_title(request.title)
        async with writing(self._database, self._owners) as (connection, owner):
            row = await find(connection, owner, request.id)
            details = _opened(owner, row)
            if request.HasField("title") and (not request.suggested or details.get(AUTOMATIC)):
                details |= {"title": request.title.strip(), AUTOMATIC: False}
            if request.HasField("metadata_json"):
                details["metadata"] = _metadata(request)
            flags = {name: getattr(request, name) for name in _FLAGS if request.HasField(name)}
            sealed = owner.sealing.seal(json.dumps(details).encode(), row.id)
            changed = update(conversations).where(_C.id == row.id)
            await connection.execute(changed.values(details=sealed, **flags))
            stored = self._message(owner, await find(connection, owner, request.id))
        return pb.UpdateConversationResponse(conversation=stored)

    async def DeleteConversation(
        self, request: pb.DeleteConversationRequest, context: Context
    ) -> pb.DeleteConversationResponse:
        """Delete a conversation with all that belongs to it."""
        async with writing(self._database, self._owners) as (connection, owner):
            await find(connection, owner, request.id)
            owner.items -= await remove(connection, conversation_ids=[request.id])
        return pb.DeleteConversationResponse()

    async def CreateItems(
        self, request: pb.CreateItemsRequest, context: Context
    ) -> pb.CreateItemsResponse:
        """Add items at the end of a conversation."""
        identifier, items = request.conversation, request.items
        require(bool(items), "items", "must not be empty")
        documents = new_items(items)
        async with writing(self._database, self._owners) as (connection, owner):
            row = await find(connection, owner, identifier)
            line = Line(identifier, "", row.last_item)
            time = now()
            last = await add(connection, owner, line, items, time)
            await execute(connection, extended(owner, row, last, documents)[0])
            ids = [each.id for each in items]
            query = select(*COLUMNS).where(conversation_items.c.id.in_(ids))
            ordered = query.order_by(conversation_items.c.position)
            stored = [message(owner, each) for each in await connection.execute(ordered)]
        return pb.CreateItemsResponse(items=stored)

    async def ListItems(
        self, request: pb.ListItemsRequest, context: Context
    ) -> pb.ListItemsResponse:
        """Return a page of items."""
        size = page_size(request.page_size, _SHORT_PAGE, _MAX_SHORT_PAGE)
        position = conversation_items.c.position
        async with self._database.reading() as connection:
            owner = await self._owners.find(connection)
            if request.WhichOneof("of") == "response":
                await row_of(connection, owner, responses, "response", request.response)
                which = conversation_items.c.response_id == request.response
                which &= conversation_items.c.is_input
            else:
                await find(connection, owner, request.conversation)
                which = conversation_items.c.conversation_id == request.conversation
            assert owner is not None  # noqa: S101 - something of the caller was found
            if request.only_output:
                which &= ~conversation_items.c.is_input
            query = select(*COLUMNS).where(owner.of(conversation_items), which)
            if request.id:
                row = await _item(connection, query, request.id)
                return pb.ListItemsResponse(items=[message(owner, row)])
            if request.after:
                await _item(connection, query, request.after)
                first = select(position).where(conversation_items.c.id == request.after)
                there = first.scalar_subquery()
                query = query.where(position < there if request.newest_first else position > there)
            order = position.desc() if request.newest_first else position
            rows = (await connection.execute(query.order_by(order).limit(size + 1))).all()
        items = [message(owner, row) for row in rows[:size]]
        return pb.ListItemsResponse(items=items, has_more=len(rows) > size)

    async def DeleteItem(
        self, request: pb.DeleteItemRequest, context: Context
    ) -> pb.DeleteItemResponse:
        """Delete an item of a conversation."""
        conversation = request.conversation
        async with writing(self._database, self._owners) as (connection, owner):
            row = await find_open(connection, owner, conversation)
            query = select(*COLUMNS).where(conversation_items.c.conversation_id == conversation)
            await remove_item(connection, owner, await _item(connection, query, request.id))
            rest = await connection.execute(query)
            documents = [json.loads(message(owner, each).document_json) for each in rest]
            # The words of the others, without those of the deleted one.
            sealed = _sealed(owner, conversation, _opened(owner, row), b"", documents, title=False)
            changed = update(conversations).where(_C.id == conversation)
            await connection.execute(changed.values(**sealed, updated_at=now()))
            stored = self._message(owner, await find(connection, owner, conversation))
        return pb.DeleteItemResponse(conversation=stored)

    async def UpdateFeedback(
        self, request: pb.UpdateFeedbackRequest, context: Context
    ) -> pb.UpdateFeedbackResponse:
        """Replace the feedback on an item of a conversation."""
        check_feedback(feedback := request.feedback)
        async with writing(self._database, self._owners) as (connection, owner):
            await find(connection, owner, request.conversation)
            items = conversation_items.c
            query = select(*COLUMNS).where(items.conversation_id == request.conversation)
            item = await _item(connection, query, request.id)
            await self._count(connection, owner, item, feedback.rating)
            is_empty = feedback == pb.Feedback()
            value = None if is_empty else sealed_feedback(owner, request.id, feedback)
            changed = update(conversation_items).where(items.id == request.id)
            await connection.execute(changed.values(feedback=value))
        return pb.UpdateFeedbackResponse(feedback=feedback)

    async def _count(
        self, connection: AsyncConnection, owner: Owner, item: AnyRow, rating: int
    ) -> None:
        query = select(responses.c.body).where(responses.c.id == item.response_id)
        if (body := await connection.scalar(query)) is not None:
            document = owner.sealing.open(body, item.response_id)
            before = message(owner, item).feedback.rating
            await self._counting.rating(connection, document, item.created_at, before, rating)

    def _message(self, owner: Owner | None, row: AnyRow) -> pb.Conversation:
        assert owner is not None  # noqa: S101 - the row is the owner's
        details = _opened(owner, row)
        return pb.Conversation(
            id=row.id,
            title=details["title"],
            metadata=details["metadata"],
            assistant=details["assistant"],
            pinned=row.pinned,
            archived=row.archived,
            create_time=Timestamp(seconds=row.created_at),
            update_time=Timestamp(seconds=row.updated_at),
            expire_time=Timestamp(seconds=row.updated_at + self._days_of(owner) * _DAY),
            read_only=details.get(READ_ONLY, False),
        )

    def _days_of(self, owner: Owner) -> int:
        return self._days if owner.days is None else owner.days


async def row_of(
    connection: AsyncConnection,
    owner: Owner | None,
    table: Table,
    kind: str,
    identifier: str,
) -> AnyRow:
    """Return a row of the owner.

    Raises:
        NotFoundError: There is none.
    """
    if owner is None or not is_id(identifier):
        raise missing(kind, identifier)
    query = select(table).where(owner.of(table), table.c.id == identifier)
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise missing(kind, identifier)
    return row


async def find(connection: AsyncConnection, owner: Owner | None, identifier: str) -> AnyRow:
    """Return a conversation of the owner. Raises as `row_of`."""
    return await row_of(connection, owner, conversations, "conversation", identifier)


async def find_open(connection: AsyncConnection, owner: Owner | None, identifier: str) -> AnyRow:
    """Return a conversation of the owner to which something can be added. Raises as `row_of`.

    Raises:
        PermissionDeniedError: It is read-only.
    """
    row = await find(connection, owner, identifier)
    assert owner is not None  # noqa: S101 - something of the caller was found
    _check_open(_opened(owner, row))
    return row


def extended(
    owner: Owner, row: AnyRow, last: str, documents: Documents, assistant: str = ""
) -> tuple[Call, bool]:
    """Return what notes the new last item of a conversation, and the words of new items.

    The second value says whether the title was made of the first message. Raises as `find_open`.
    """
    details = _opened(owner, row)
    _check_open(details)
    details["assistant"] = assistant or details["assistant"]
    words = owner.sealing.open(row.words, row.id)
    sealed = _sealed(owner, row.id, details, words, documents)
    values = {"key": row.id, "last_item": last, "updated_at": now(), **sealed}
    return (_EXTEND, values), bool(details.get(AUTOMATIC))


async def _item(connection: AsyncConnection, query: Any, identifier: str) -> AnyRow:  # noqa: ANN401 - a query of `COLUMNS`
    here = query.where(conversation_items.c.id == identifier)
    row: AnyRow | None = None
    if is_id(identifier):
        row = (await connection.execute(here)).one_or_none()
    if row is None:
        raise missing("item", identifier)
    return row


def _sealed(
    owner: Owner,
    identifier: str,
    details: dict[str, Any],
    words: bytes,
    documents: Documents,
    *,
    title: bool = True,
) -> dict[str, bytes]:
    """Return the encrypted columns of a conversation, with the words of further items."""
    if title and not details["title"]:
        details |= {"title": _first_words(documents), AUTOMATIC: True}
    return {
        "details": owner.sealing.seal(json.dumps(details).encode(), identifier),
        "words": owner.sealing.seal(with_words(words, documents), identifier),
    }


def _opened(owner: Owner, row: AnyRow) -> dict[str, Any]:
    details: dict[str, Any] = json.loads(owner.sealing.open(row.details, row.id))
    return details


def _check_open(details: Mapping[str, Any]) -> None:
    if details.get(READ_ONLY):
        raise PermissionDeniedError(
            "The conversation is read-only: it took place in another installation. Begin a new one."
        )


def _first_words(documents: Documents) -> str:
    """Return the beginning of the first message of a user, as a title."""
    for document in documents:
        if document.get("role") == "user":
            line = " ".join(" ".join(texts_of(document)).split())
            cut = line[:_FIRST_TITLE]
            return cut if len(line) == len(cut) else f"{cut.rpartition(' ')[0] or cut}…"
    return ""


def _details(conversation: pb.Conversation) -> dict[str, Any]:
    names: Mapping[str, str] = conversation.metadata
    return {
        "title": conversation.title.strip(),
        "metadata": dict(names),
        "assistant": conversation.assistant,
    }


def check_feedback(feedback: pb.Feedback) -> None:
    """Refuse feedback with another rating, or with a long text.

    Raises:
        InvalidRequestError: It is not valid.
    """
    require(feedback.rating in (-1, 0, 1), "feedback.rating", "must be -1, 0 or 1")
    what = f"must have at most {_MAX_FEEDBACK:,} characters"
    require(len(feedback.text) <= _MAX_FEEDBACK, "feedback.text", what)


def check(conversation: pb.Conversation) -> None:
    """Refuse a conversation whose texts are too long.

    Raises:
        InvalidRequestError: They are.
    """
    _check_title(conversation.title)
    _check_metadata(conversation.metadata)


def _check_title(title: str) -> None:
    what = f"must have at most {_MAX_TITLE} characters"
    require(len(title) <= _MAX_TITLE, "title", what)


def _check_metadata(metadata: Mapping[str, object]) -> None:
    count, name_length, value_length = _METADATA
    fits = len(metadata) <= count and all(
        len(name) <= name_length and isinstance(value, str) and len(value) <= value_length
        for name, value in metadata.items()
    )
    what = (
        f"must have at most {count} members, with names of at most {name_length} and texts of at "
        f"most {value_length} characters"
    )
    require(fits, "metadata", what)


def _metadata(request: pb.UpdateConversationRequest) -> dict[str, Any]:
    """Return the new data of the client. Raises as `check`."""
    metadata = object_of(request.metadata_json)
    if metadata is None:
        require(is_fulfilled=False, field="metadata", problem="must be a JSON object")
    _check_metadata(metadata or {})
    return metadata or {}


def new_items(items: Sequence[pb.Item]) -> list[dict[str, Any]]:
    """Return the documents of new items, of which a request has a few. Raises as `check`."""
    require(len(items) <= MAX_NEW_ITEMS, "items", f"must be at most {MAX_NEW_ITEMS}")
    return documents_of(items, "items")


def _token(conversation: pb.Conversation) -> str:
    return f"{conversation.pinned:d} {conversation.update_time.seconds} {conversation.id}"


def _read_token(token: str) -> tuple[Any, ...]:
    if not token:
        return ()
    try:
        pinned, updated, identifier = read_token(token).split(" ")
        return literal(pinned == "1"), literal(int(updated)), literal(identifier)
    except ValueError:
        violation = Violation("page_token", "is not a token of this list")
        raise InvalidRequestError("The page token is not valid.", [violation]) from None
