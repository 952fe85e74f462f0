"""Finds versions of assistants that name a person as owner or share with one."""

import json
import zlib
from typing import NamedTuple

from heddle_conversion import dump
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select, tuple_

from heddle_assistants.database.assistant_row import Shares
from heddle_assistants.database.schema import assistant_versions, assistants
from heddle_assistants.people.person_tables import Subject

_PAGE = 500


class Snapshot(NamedTuple):
    """The key of a version."""

    assistant_id: int
    number: int


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
