"""The tables with data of a person, and the conditions of the person's rows."""

import json
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from heddle.person.v1 import person_pb2 as pb
from heddle_conversion.identifiers import DELETED_OWNER
from heddle_runtime.identity.people import Person, mention
from sqlalchemy import ColumnElement, Table, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.access import no_organization
from heddle_assistants.database import schema

_SECRETS = {
    "api_keys": {"digest", "pepper_id"},
    "passwords": {"hash"},
    "sessions": {"digest", "pepper_id"},
    "conversation_owners": {"sealed"},
    "conversations": {"words"},
    "responses": {"events"},
    "audit_events": {"before_digest", "after_digest", "previous_digest", "digest", "key_id"},
}
"""Columns that an export omits: they are useful for abuse only, or repeat others."""
Open = Callable[[bytes, str], Any]
"""Returns the JSON value in an encrypted column of the row of an id."""
OWNED = (schema.rubrics, schema.prompts, schema.knowledge_bases, schema.knowledge_stores)
"""The tables with `owner_email`, whose rows are deleted or handed over with a person."""
CONVERSATIONS = (
    *(schema.conversation_items, schema.responses, schema.conversations),
    *(schema.batch_results, schema.batches),
    schema.conversation_owners,
)
"""The tables of conversations, whose rows are always deleted with a person."""
_DELETED, _CHOSEN = pb.TREATMENT_DELETED, pb.TREATMENT_CHOSEN
_PSEUDONYM = pb.TREATMENT_PSEUDONYMISED


@dataclass(frozen=True, slots=True)
class Subject:
    """A person, by the columns that identify one in the database."""

    person: Person
    organization_id: int
    assistants: Sequence[int]
    """The ids of the person's assistants, deleted ones too if their former owner is known."""
    findings: Sequence[tuple[int, int]]
    """The keys of `job_findings` that name the person."""
    followed: Sequence[tuple[str, int]]
    """The keys of `followed_rows` that name the person."""
    learner: str
    """The pseudonym under which the person's questions are counted."""


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The rows of one table that are a person's."""

    table: Table
    condition: ColumnElement[bool]
    treatment: "pb.Treatment.ValueType"

    async def count(self, connection: AsyncConnection) -> int:
        """Return the number of rows."""
        query = select(func.count()).select_from(self.table).where(self.condition)
        return await connection.scalar(query) or 0

    async def rows(self, connection: AsyncConnection, open_: Open) -> list[dict[str, Any]]:
        """Return the rows without secrets, as JSON values. `open_` reads encrypted ones."""
        hidden = _SECRETS.get(self.table.name, set())
        columns = [column for column in self.table.c if column.name not in hidden]
        values = await connection.execute(select(*columns).where(self.condition))
        is_sealed = self.table in CONVERSATIONS
        return [
            {
                name: open_(value, row["id"])
                if is_sealed and isinstance(value, bytes)
                else _json(value)
                for name, value in row.items()
            }
            for row in map(dict, values.mappings())
        ]


async def subject_of(connection: AsyncConnection, person: Person, learner: str) -> Subject:
    """Return the identifiers of a person in the database; `learner` is one of them.

    Raises:
        NotFoundError: There is no such organisation.
    """
    query = select(schema.organizations.c.id).where(
        schema.organizations.c.slug == person.organization
    )
    organization_id = await connection.scalar(query)
    if organization_id is None:
        raise no_organization(person.organization)
    assistants = schema.assistants
    owned = select(assistants.c.id).where(
        assistants.c.organization_id == organization_id, assistants.c.owner == person.email
    )
    ids = [*await connection.scalars(owned)]
    ids += [each async for each in _deleted(connection, organization_id, person.email)]
    findings = [each async for each in _findings(connection, person.email)]
    followed = [each async for each in _followed(connection, person.email)]
    return Subject(person, organization_id, ids, findings, followed, learner)


def places_of(subject: Subject) -> Iterator[TablePlace]:
    """Yield the places of a person."""
    email = subject.person.email
    mine = subject.assistants
    users = (schema.users.c.organization_id == subject.organization_id) & (
        schema.users.c.email == email
    )
    numbers = select(schema.users.c.id).where(users)
    yield TablePlace(schema.users, users, _DELETED)
    yield TablePlace(schema.passwords, schema.passwords.c.user_id.in_(numbers), _DELETED)
    yield TablePlace(schema.sessions, schema.sessions.c.user_id.in_(numbers), _DELETED)
    keys = schema.api_keys.c
    own_keys = (keys.organization_id == subject.organization_id) & (keys.user_email == email)
    yield TablePlace(schema.api_keys, own_keys, _DELETED)
    yield TablePlace(schema.assistants, schema.assistants.c.id.in_(mine), _CHOSEN)
    for table in (schema.assistant_versions, schema.originals, schema.saved_questions):
        yield TablePlace(table, table.c.assistant_id.in_(mine), _CHOSEN)
    shared = schema.assistant_users.c.assistant_id.in_(_of_organization(subject))
    with_person = shared & (schema.assistant_users.c.email == email)
    yield TablePlace(schema.assistant_users, with_person, _DELETED)
    groups = select(schema.learner_groups.c.id).where(
        schema.learner_groups.c.organization_id == subject.organization_id
    )
    members = schema.group_members.c
    in_group = members.group_id.in_(groups) & (members.email == email)
    yield TablePlace(schema.group_members, in_group, _DELETED)
    for table in (schema.question_days, schema.learner_questions):
        yield TablePlace(table, table.c.learner == subject.learner, _DELETED)
    for table in OWNED:
        owned = (table.c.organization_id == subject.organization_id) & (
            table.c.owner_email == email
        )
        yield TablePlace(table, owned, _CHOSEN)
    for table in CONVERSATIONS:
        stored = (table.c.organization_id == subject.organization_id) & (
            table.c.owner_email == email
        )
        yield TablePlace(table, stored, _DELETED)
    for table in (schema.usage, schema.daily_usage):
        yield TablePlace(table, table.c.assistant_id.in_(mine), _PSEUDONYM)
    yield TablePlace(schema.jobs, schema.jobs.c.author == email, _PSEUDONYM)
    findings = schema.job_findings.c
    named = tuple_(findings.job_id, findings.number).in_(subject.findings)
    yield TablePlace(schema.job_findings, named, _DELETED)
    followed = schema.followed_rows.c
    keys_of_rows = tuple_(followed.source, followed.row_id).in_(subject.followed)
    yield TablePlace(schema.followed_rows, keys_of_rows, _DELETED)


def _of_organization(subject: Subject) -> Any:  # noqa: ANN401 - a query of one column
    return select(schema.assistants.c.id).where(
        schema.assistants.c.organization_id == subject.organization_id
    )


async def _deleted(
    connection: AsyncConnection, organization_id: int, email: str
) -> AsyncGenerator[int]:
    """Yield the deleted assistants of a person: their last version has the former owner."""
    assistants, versions = schema.assistants.c, schema.assistant_versions.c
    query = (
        select(assistants.id, versions.document)
        .join(
            schema.assistant_versions,
            (versions.assistant_id == assistants.id) & (versions.number == assistants.revision),
        )
        .where(assistants.organization_id == organization_id, assistants.owner == DELETED_OWNER)
    )
    for number, document in await connection.execute(query):
        if json.loads(zlib.decompress(document)).get("owner") == email:
            yield number


async def _findings(connection: AsyncConnection, email: str) -> AsyncGenerator[tuple[int, int]]:
    table = schema.job_findings.c
    texts = (table.row_name, table.notes, table.refusal)
    query = select(table.job_id, table.number, *texts).where(
        or_(*(func.lower(each).contains(email, autoescape=True) for each in texts))
    )
    named = mention(email)
    for job, number, *values in await connection.execute(query):
        if any(map(named.search, values)):
            yield job, number


async def _followed(connection: AsyncConnection, email: str) -> AsyncGenerator[tuple[str, int]]:
    table = schema.followed_rows.c
    query = select(table.source, table.row_id, table.document)
    named = mention(email)
    for source, number, document in await connection.execute(query):
        if document and named.search(zlib.decompress(document).decode()):
            yield source, number


def _json(value: Any) -> Any:  # noqa: ANN401 - any value of a column
    if not isinstance(value, bytes):
        return value
    return json.loads(zlib.decompress(value)) if value else None
