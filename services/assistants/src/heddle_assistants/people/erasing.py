"""Erases the data of a person in the tables, in the transaction of one audit event."""

import json
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heddle.person.v1 import person_pb2 as pb
from heddle_conversion import dump
from heddle_conversion.identifiers import DELETED_OWNER
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import AlreadyExistsError
from heddle_runtime.identity.people import Erasure, place
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Table, delete, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.owner_organizations import is_user_of
from heddle_assistants.accounts.sign_in.sessions import end_of_address
from heddle_assistants.database import schema
from heddle_assistants.database.assistant_row import LIVING, ROWS, Row, Shares
from heddle_assistants.database.schema import assistant_versions, assistants
from heddle_assistants.field_checks import require
from heddle_assistants.people.person_tables import (
    CONVERSATIONS,
    OWNED,
    Subject,
    TablePlace,
    places_of,
)
from heddle_assistants.repository.deleting import remove_contents
from heddle_assistants.repository.saving import save
from heddle_assistants.repository.writer import written
from heddle_assistants.sharing.store import write_users

ACCESS = ("users", "passwords", "sessions", "api_keys")
"""The tables that give a person access."""
_PAGE = 500


class Snapshot(NamedTuple):
    """The key of a version."""

    assistant_id: int
    number: int


@dataclass(slots=True)
class Erasing:
    """One erasure in the tables, within a transaction."""

    connection: AsyncConnection
    changes: list[Change]
    subject: Subject
    erasure: Erasure
    pseudonym: str

    async def run(self, snapshots: Sequence[Snapshot] = ()) -> list[pb.Place]:
        """Erase, and return how much each place had.

        Args:
            snapshots: Versions of assistants that name the person and stay.

        Raises:
            AlreadyExistsError: The new owner has an assistant of a name that is handed over.
            InvalidRequestError: The new owner is no user of the organisation.
        """
        await self._check_new_owner()
        erased = []
        for each in places_of(self.subject):
            if self.erasure.access_only and each.table.name not in ACCESS:
                continue
            count = await each.count(self.connection)
            erased.append(place(each.table.name, count, each.treatment))
        if not self.erasure.access_only:
            await self._assistants()
            await self._owned()
            await self._mentions(snapshots)
        await self._access()
        if counts := {each.name: each.count for each in erased if each.count}:
            rows = ", ".join(f"{name} {count}" for name, count in counts.items())
            slug = self.erasure.person.organization
            action = "person.end_access" if self.erasure.access_only else "person.erase"
            self.changes.append(Change(action, self.pseudonym, slug, after={"rows": rows}))
        return erased

    async def _check_new_owner(self) -> None:
        new_owner = self.erasure.new_owner
        if not new_owner:
            return
        organization = self.erasure.person.organization
        is_user = await is_user_of(self.connection, new_owner, organization)
        require(is_user, "new_owner", "is no user of the organisation")
        assistants = schema.assistants
        mine = select(assistants.c.name).where(assistants.c.id.in_(self.subject.assistants), LIVING)
        query = select(assistants.c.name).where(
            assistants.c.owner == new_owner,
            assistants.c.organization_id == self.subject.organization_id,
            assistants.c.name.in_(mine),
        )
        if taken := await self.connection.scalar(query.limit(1)):
            raise AlreadyExistsError(
                f"{new_owner} has an assistant named {taken!r} already. Rename one of both."
            )

    async def _assistants(self) -> None:
        query = ROWS.where(schema.assistants.c.id.in_(self.subject.assistants))
        rows = [Row._make(each) for each in await self.connection.execute(query)]
        for row in rows:
            if self.erasure.new_owner and not row.deleted:
                await self._hand_over(row)
        gone = [each.id for each in rows if each.deleted or not self.erasure.new_owner]
        now = int(time.time())
        await remove_contents(
            self.connection,
            gone,
            "erased",
            owner=DELETED_OWNER,
            published=False,
            deleted_at=now,
            updated_at=now,
        )

    async def _hand_over(self, before: Row) -> None:
        new_owner = self.erasure.new_owner
        shares = before.shares
        shares = Shares(shares.users - {new_owner}, shares.editors - {new_owner})
        row = await written(self.connection, before, {"owner": new_owner, "sharing": shares.text})
        await write_users(self.connection, row)
        await save(self.connection, self.changes, "hand_over", before, row)

    async def _owned(self) -> None:
        for table in OWNED:
            owned = (table.c.organization_id == self.subject.organization_id) & (
                table.c.owner_email == self.erasure.person.email
            )
            if self.erasure.new_owner:
                query = update(table).where(owned).values(owner_email=self.erasure.new_owner)
                await self.connection.execute(query)
            else:
                await self.connection.execute(delete(table).where(owned))
        await self._delete(*CONVERSATIONS)

    async def _mentions(self, snapshots: Sequence[Snapshot]) -> None:
        email = self.erasure.person.email
        users = schema.assistant_users
        shared = select(users.c.assistant_id).where(users.c.email == email)
        query = ROWS.where(
            schema.assistants.c.id.in_(shared),
            schema.assistants.c.organization_id == self.subject.organization_id,
        )
        for record in (await self.connection.execute(query)).all():
            row = Row._make(record)
            rest = Shares(row.shares.users - {email}, row.shares.editors - {email})
            # No version of it: the assistant itself stays as it is.
            changed = await written(self.connection, row, {"sharing": rest.text})
            await write_users(self.connection, changed)
        versions = schema.assistant_versions
        of_organization = select(schema.assistants.c.id).where(
            schema.assistants.c.organization_id == self.subject.organization_id
        )
        await self.connection.execute(
            update(versions)
            .where(versions.c.assistant_id.in_(of_organization), versions.c.author == email)
            .values(author=self.pseudonym)
        )
        for each in snapshots:
            await self._rewrite(each)
        jobs = schema.jobs
        by_person = update(jobs).where(jobs.c.author == email)
        await self.connection.execute(by_person.values(author=self.pseudonym))
        await self._delete(schema.job_findings, schema.followed_rows, schema.group_members)
        await self._delete(schema.question_days, schema.learner_questions)

    async def _rewrite(self, each: Snapshot) -> None:
        versions = schema.assistant_versions
        same = (versions.c.assistant_id == each.assistant_id) & (versions.c.number == each.number)
        document = await self.connection.scalar(select(versions.c.document).where(same))
        if document is not None:
            changed = without_person(document, self.erasure.person.email, self.pseudonym)
            await self.connection.execute(update(versions).where(same).values(document=changed))

    async def _access(self) -> None:
        users = schema.users.c
        own = (users.organization_id == self.subject.organization_id) & (
            users.email == self.erasure.person.email
        )
        if await self.connection.scalar(select(users.home).where(own)):
            await end_of_address(self.connection, self.erasure.person.email)
        # Children first: not every connection deletes them with their user.
        await self._delete(schema.sessions, schema.passwords, schema.api_keys, schema.users)

    async def _delete(self, *tables: Table) -> None:
        places: dict[str, TablePlace] = {each.table.name: each for each in places_of(self.subject)}
        for table in tables:
            condition = places[table.name].condition
            await self.connection.execute(delete(table).where(condition))


async def naming(database: Database, subject: Subject) -> list[Snapshot]:
    """Return the versions of the organisation's assistants that name a person.

    Reads page by page, so that writers need not wait.
    """
    key = tuple_(assistant_versions.c.assistant_id, assistant_versions.c.number)
    query = (
        select(
            assistant_versions.c.assistant_id,
            assistant_versions.c.number,
            assistant_versions.c.document,
        )
        .join(assistants, assistants.c.id == assistant_versions.c.assistant_id)
        .where(assistants.c.organization_id == subject.organization_id)
        .order_by(assistant_versions.c.assistant_id, assistant_versions.c.number)
        .limit(_PAGE)
    )
    keys: list[Snapshot] = []
    last = Snapshot(0, 0)
    while True:
        async with database.reading() as connection:
            rows = (await connection.execute(query.where(key > tuple_(*last)))).all()
        for row in rows:
            last = Snapshot(row.assistant_id, row.number)
            if without_person(row.document, subject.person.email, "") != row.document:
                keys.append(last)
        if len(rows) < _PAGE:
            return keys


def without_person(document: bytes, email: str, pseudonym: str) -> bytes:
    """Return a version in which a pseudonym replaces the person as owner and in the sharing.

    Texts of authors stay as they are.
    """
    text = zlib.decompress(document)
    if email.encode() not in text:
        return document
    members = json.loads(text)
    shares = Shares.of(members.get("sharing") or "")
    rest = Shares(shares.users - {email}, shares.editors - {email})
    if members.get("owner") != email and rest == shares:
        return document
    if members.get("owner") == email:
        members["owner"] = pseudonym
    if rest != shares:
        members["sharing"] = rest.text
    return zlib.compress(dump(members).encode())
