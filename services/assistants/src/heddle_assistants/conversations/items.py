"""The rows of items: how they are written, read, followed and deleted."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_runtime.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
    ResourceExhaustedError,
    Violation,
)
from heddle_runtime.storage.database.prepared import Call, Prepared, execute
from sqlalchemy import ColumnElement, delete, func, insert, literal, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.conversations.owners import AnyRow, Owner
from heddle_assistants.database.schema import (
    conversation_items,
    conversation_owners,
    conversations,
    learner_questions,
    responses,
)

MAX_ITEMS = 200_000
"""The maximum number of items of a person."""
_PATH_ITEMS = 5_000
_PATH_BYTES = 8 * 1024 * 1024
"""The maximum size of the items that precede a turn. Older ones are left out."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)
_MAX_BODY = 16 * 1024 * 1024
_OLDEST = 20
_I = conversation_items.c
INSERT = Prepared(
    insert(conversation_items),
    (
        *("id", "organization_id", "owner_email", "created_at", "conversation_id"),
        *("response_id", "position", "is_input", "parent", "body"),
    ),
)
COLUMNS = (_I.id, _I.parent, _I.created_at, _I.body, _I.feedback, _I.response_id)


class Line(NamedTuple):
    """A place at which items are added, and whose items they are."""

    conversation: str
    response: str
    parent: str
    """The item that the first one follows."""


def missing(kind: str, identifier: str) -> NotFoundError:
    """Return the error about a thing that does not exist, or not for the caller."""
    known = identifier[:100]
    metadata: dict[str, Any] = {kind: known}
    return NotFoundError(f"No {kind} has the id {known!r}.", **metadata)


def is_id(identifier: str) -> bool:
    """Return whether a text can be the identifier of a stored thing."""
    return _ID.fullmatch(identifier) is not None


def documents_of(items: Sequence[pb.Item], field: str) -> list[dict[str, Any]]:
    """Return the documents of items to store.

    Raises:
        InvalidRequestError: An item is not valid.
    """
    violations, documents = [], []
    for index, item in enumerate(items):
        if not is_id(item.id):
            what = "must be at most 100 letters, digits, _ and -"
            violations.append(Violation(f"{field}[{index}].id", what))
        document = object_of(item.document_json)
        if document is None:
            what = "must be a JSON object of at most 16 MiB"
            violations.append(Violation(f"{field}[{index}].document_json", what))
        else:
            documents.append(document)
    if violations:
        raise InvalidRequestError("The items are not valid.", violations)
    return documents


def object_of(text: str) -> dict[str, Any] | None:
    """Return a JSON object, None if a text is none or too large."""
    try:
        value = json.loads(text) if len(text) <= _MAX_BODY else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


async def add(
    connection: AsyncConnection, owner: Owner, line: Line, items: Sequence[pb.Item], now: int
) -> str:
    """Add items to a line; return the last one, or what the line followed if there are none.

    Raises:
        AlreadyExistsError: There is an item of one of their identifiers.
        ResourceExhaustedError: The person stores as many items as are allowed.
    """
    rows = rows_of(owner, line, items, now)
    if not rows:
        return line.parent
    await store(connection, (INSERT, rows))
    await make_room(connection, owner, line)
    return items[-1].id


async def store(connection: AsyncConnection, *calls: Call) -> None:
    """Execute statements that insert rows of clients' identifiers.

    Raises:
        AlreadyExistsError: There is a row of one of them.
    """
    try:
        await execute(connection, *calls)
    except IntegrityError:
        raise AlreadyExistsError("An item or response of this id is stored already.") from None


def rows_of(
    owner: Owner, line: Line, items: Sequence[pb.Item], now: int, *, is_input: bool = True
) -> list[dict[str, Any]]:
    """Return the rows of items that are added to a line, and count them."""
    rows, parent = [], line.parent
    for number, item in enumerate(items, owner.last_position + 1):
        body = owner.sealing.seal(item.document_json.encode(), item.id)
        rows.append(
            owner.row(item.id, item.create_time.seconds or now)
            | {
                "conversation_id": line.conversation,
                "response_id": line.response,
                "position": number,
                "is_input": is_input,
                "parent": parent,
                "body": body,
            }
        )
        parent = item.id
    owner.last_position += len(rows)
    owner.items += len(rows)
    return rows


def check_count(items: int) -> None:
    """Refuse more items than a person may store.

    Raises:
        ResourceExhaustedError: There are more.
    """
    if items > MAX_ITEMS:
        raise ResourceExhaustedError(
            f"You store {MAX_ITEMS:,} messages, the most that are allowed. Delete or unpin "
            "conversations."
        )


async def make_room(connection: AsyncConnection, owner: Owner, line: Line) -> None:
    """Delete the responses and conversations that changed least recently, until items fit."""
    if owner.items <= MAX_ITEMS:
        return
    single = select(responses.c.id, responses.c.updated_at, literal(0).label("is_conversation"))
    single = single.where(
        owner.of(responses), responses.c.conversation_id == "", responses.c.id != line.response
    )
    whole = select(conversations.c.id, conversations.c.updated_at, literal(1)).where(
        owner.of(conversations), ~conversations.c.pinned, conversations.c.id != line.conversation
    )
    union = single.union_all(whole).subquery()
    query = select(union.c.id, union.c.is_conversation).order_by(union.c.updated_at)
    while owner.items > MAX_ITEMS:
        rows = (await connection.execute(query.limit(_OLDEST))).all()
        if not rows:
            check_count(owner.items)
        gone: tuple[list[str], list[str]] = ([], [])
        for row in rows:
            gone[row.is_conversation].append(row.id)
        owner.items -= await remove(connection, conversation_ids=gone[1], response_ids=gone[0])


async def remove(
    connection: AsyncConnection,
    *,
    conversation_ids: Sequence[str] = (),
    response_ids: Sequence[str] = (),
) -> int:
    """Delete conversations with their responses and items, and responses with their own items.

    Returns the number of deleted items. Rows of owners are not changed.
    """
    of_conversations = _I.conversation_id.in_(conversation_ids)
    of_responses = _I.response_id.in_(response_ids) & (_I.conversation_id == "")
    gone = delete(conversation_items).where(or_(of_conversations, of_responses))
    count = (await connection.execute(gone)).rowcount
    copied: ColumnElement[bool] = learner_questions.c.conversation_id.in_(conversation_ids)
    copied |= learner_questions.c.response_id.in_(response_ids)
    await connection.execute(delete(learner_questions).where(copied))
    either = responses.c.conversation_id.in_(conversation_ids) | responses.c.id.in_(response_ids)
    await connection.execute(delete(responses).where(either))
    await connection.execute(delete(conversations).where(conversations.c.id.in_(conversation_ids)))
    return count


async def recount(connection: AsyncConnection, owners: ColumnElement[bool]) -> None:
    """Count the items of owners again, after a deletion for several of them."""
    table = conversation_owners
    count = (
        select(func.count())
        .where(_I.organization_id == table.c.organization_id, _I.owner_email == table.c.owner_email)
        .scalar_subquery()
    )
    await connection.execute(update(table).where(owners).values(item_count=count))


async def remove_item(connection: AsyncConnection, owner: Owner, row: AnyRow) -> None:
    """Delete an item; those after it follow the one before it."""
    await connection.execute(delete(conversation_items).where(_I.id == row.id))
    copied = learner_questions.c.response_id == row.response_id
    await connection.execute(delete(learner_questions).where(copied))
    owner.items -= 1
    for table, column in (
        (conversation_items, _I.parent),
        (conversations, conversations.c.last_item),
        (responses, responses.c.last_item),
    ):
        query = update(table).where(owner.of(table), column == row.id)
        await connection.execute(query.values({column: row.parent}))


async def path(connection: AsyncConnection, owner: Owner, last: str) -> list[pb.Item]:
    """Return an item and all before it, the oldest first."""
    size = func.length(_I.body)
    mine = owner.of(conversation_items)
    first = select(_I.id, _I.parent, literal(0).label("depth"), size.label("size"))
    way = first.where(mine, _I.id == last).cte("way", recursive=True)
    before = select(_I.id, _I.parent, way.c.depth + 1, way.c.size + size)
    before = before.join(way, _I.id == way.c.parent)
    way = way.union_all(before.where(mine, way.c.depth < _PATH_ITEMS - 1, way.c.size < _PATH_BYTES))
    query = select(*COLUMNS).join(way, way.c.id == _I.id).order_by(way.c.depth.desc())
    return [message(owner, row) for row in await connection.execute(query)]


async def single(connection: AsyncConnection, owner: Owner, ids: Sequence[str]) -> list[pb.Item]:
    """Return the items of some identifiers that exist."""
    known = [each for each in ids if is_id(each)]
    query = select(*COLUMNS).where(owner.of(conversation_items), _I.id.in_(known))
    return [message(owner, row) for row in await connection.execute(query)]


def message(owner: Owner, row: AnyRow) -> pb.Item:
    """Return a row of `COLUMNS` as a message."""
    item = pb.Item(
        id=row.id,
        document_json=owner.sealing.open(row.body, row.id).decode(),
        parent=row.parent,
        create_time=Timestamp(seconds=row.created_at),
        response=row.response_id,
    )
    if row.feedback is not None:
        feedback = json.loads(owner.sealing.open(row.feedback, row.id))
        item.feedback.rating, item.feedback.text = feedback
    return item


def sealed_feedback(owner: Owner, identifier: str, feedback: pb.Feedback) -> bytes:
    """Return feedback in the form that is stored."""
    content = json.dumps([feedback.rating, feedback.text]).encode()
    return owner.sealing.seal(content, identifier)


Documents = Sequence[Mapping[str, Any]]
