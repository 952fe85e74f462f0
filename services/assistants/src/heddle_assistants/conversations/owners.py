"""The people who store conversations, and the keys that encrypt what they store."""

import secrets
import time
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import structlog
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from heddle_runtime.errors import NotSetUpError, PermissionDeniedError, UnavailableError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import insertion
from heddle_runtime.storage.database.prepared import Call, Prepared, execute
from sqlalchemy import Column, ColumnElement, Row, Table, bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.owner_organizations import organization_id
from heddle_assistants.accounts.resolution import limits_in
from heddle_assistants.database.encryption import Keys, UnreadableSecretError
from heddle_assistants.database.schema import conversation_owners, organizations

_NONCE = 12  # bytes, as the cipher wants
_KEY = 32  # bytes
_COLUMNS: Sequence[Column[Any]] = (
    conversation_owners.c.organization_id,
    conversation_owners.c.owner_email,
    conversation_owners.c.sealed,
    conversation_owners.c.item_count,
    conversation_owners.c.last_position,
    organizations.c.config,
)
_OWNERS = select(*_COLUMNS).join(
    organizations, organizations.c.id == conversation_owners.c.organization_id
)
_CALLER_ONLY = _OWNERS.where(
    organizations.c.slug == bindparam("slug"),
    conversation_owners.c.owner_email == bindparam("email"),
)
_CALLER = Prepared(_CALLER_ONLY)
_LOCKED = Prepared(_CALLER_ONLY.with_for_update(of=conversation_owners))
_COUNTERS = Prepared(
    update(conversation_owners)
    .where(
        conversation_owners.c.organization_id == bindparam("number"),
        conversation_owners.c.owner_email == bindparam("email"),
    )
    .values(item_count=bindparam("items"), last_position=bindparam("position"))
)
AnyRow = Row[*tuple[Any, ...]]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Sealing:
    """Encrypts what one person stores, each text for the row that it belongs to."""

    cipher: AESGCM = field(repr=False)

    def seal(self, data: bytes, row: str) -> bytes:
        """Encrypt data for a row."""
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self.cipher.encrypt(nonce, data, row.encode())

    def open(self, data: bytes, row: str) -> bytes:
        """Decrypt data of a row."""
        return self.cipher.decrypt(data[:_NONCE], data[_NONCE:], row.encode())

    def pack(self, data: bytes, row: str) -> bytes:
        """Compress and encrypt large data."""
        return self.seal(zlib.compress(data, 1), row)

    def unpack(self, data: bytes, row: str) -> bytes:
        """Return the data of `pack`."""
        return zlib.decompress(self.open(data, row))


@dataclass(slots=True)
class Owner:
    """A person who stores conversations, as read in a transaction."""

    organization_id: int
    email: str
    sealing: Sealing
    items: int
    last_position: int
    days: int | None
    """Days after which the organisation deletes conversations, None if it does not say."""
    questions_read: bool
    """Whether teachers may read questions."""

    def of(self, table: Table) -> ColumnElement[bool]:
        """Return the condition of the owner's rows."""
        mine: ColumnElement[bool] = table.c.organization_id == self.organization_id
        return mine & (table.c.owner_email == self.email)

    def owns(self, row: AnyRow) -> bool:
        """Return whether a row is the owner's."""
        return (row.organization_id, row.owner_email) == (self.organization_id, self.email)

    def counters(self) -> Call:
        """Return what stores the counters."""
        return _COUNTERS, {
            "number": self.organization_id,
            "email": self.email,
            "items": self.items,
            "position": self.last_position,
        }

    def row(self, identifier: str, now: int) -> dict[str, Any]:
        """Return the columns that all rows of the owner have."""
        return {
            "id": identifier,
            "organization_id": self.organization_id,
            "owner_email": self.email,
            "created_at": now,
        }


class Owners:
    """Finds the owner that the caller is."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._sealing = lru_cache(4096)(self._opened)

    async def find(self, connection: AsyncConnection) -> Owner | None:
        """Return the caller, None if nothing is stored."""
        identity = caller().identity
        if identity.client_user:
            return None
        [rows] = await execute(connection, (_CALLER, _named(identity)))
        return self._owner(rows[0]) if rows else None

    async def of(self, connection: AsyncConnection, number: int, email: str) -> Owner | None:
        """Return a person of an organisation, None if nothing is stored."""
        row = (await connection.execute(_OWNERS.where(_is(number, email)))).one_or_none()
        return None if row is None else self._owner(row)

    async def locked(
        self, connection: AsyncConnection, *calls: Call
    ) -> tuple[Owner, list[list[Any]]]:
        """Return the caller, who is the only one of its name to write until the transaction ends.

        Args:
            connection: The transaction.
            calls: Queries to execute in the same trip; their rows are returned too.

        Raises:
            NotSetUpError: The organisation stores no conversations.
            PermissionDeniedError: The caller is known by a name alone.
        """
        identity = caller().identity
        if identity.client_user:
            raise PermissionDeniedError(
                "Nothing is stored for a user without an e-mail address. The trusted application "
                "must send one."
            )
        mine = (_LOCKED, _named(identity))
        [rows, *others] = await execute(connection, mine, *calls)
        if not rows:
            await self._make(connection, identity)
            [rows, *others] = await execute(connection, mine, *calls)
        owner = self._owner(rows[0])
        if owner.days == 0:
            raise NotSetUpError("Your organisation stores no conversations.")
        return owner, others

    async def _make(self, connection: AsyncConnection, identity: Identity) -> None:
        number = await organization_id(connection, home(identity))
        key = secrets.token_bytes(_KEY).hex()
        inserted = insertion(connection, conversation_owners).values(
            organization_id=number,
            owner_email=identity.subject,
            sealed=self._keys.seal(key, _place(number, identity.subject)),
        )
        await connection.execute(inserted.on_conflict_do_nothing())

    def _owner(self, row: AnyRow) -> Owner:
        """Return the owner of a row.

        Raises:
            UnavailableError: Its key cannot be decrypted.
        """
        number, email, sealed, items, position, config = row
        sealing = self._sealing(sealed, number, email)
        limits = limits_in(config)
        days = limits.conversations_days if limits.HasField("conversations_days") else None
        return Owner(number, email, sealing, items, position, days, limits.questions_days > 0)

    def _opened(self, sealed: str, number: int, email: str) -> Sealing:
        try:
            key = self._keys.open(sealed, _place(number, email))
        except UnreadableSecretError:
            log.error(  # noqa: TRY400 - the key is at fault, a traceback says nothing
                "the key of a person's conversations is encrypted with another key",
                remedy="add the former HEDDLE_ASSISTANTS_ENCRYPTION_KEY after a comma",
            )
            raise UnavailableError("The stored conversations cannot be decrypted.") from None
        return Sealing(AESGCM(bytes.fromhex(str(key))))


@asynccontextmanager
async def writing(
    database: Database, owners: Owners
) -> AsyncGenerator[tuple[AsyncConnection, Owner]]:
    """Yield a connection in a transaction, and the caller. Its counters are stored at the end."""
    async with database.writing() as connection:
        owner, _ = await owners.locked(connection)
        yield connection, owner
        await execute(connection, owner.counters())


async def reseal_owner_keys(database: Database, keys: Keys) -> None:
    """Encrypt the keys of all owners with the first key, if a former one is configured too."""
    if len(keys.ciphers) == 1:
        return
    async with database.writing() as connection:
        for row in (await connection.execute(select(conversation_owners))).all():
            place = _place(row.organization_id, row.owner_email)
            try:
                if keys.is_current(row.sealed, place):
                    continue
                sealed = keys.seal(keys.open(row.sealed, place), place)
            except UnreadableSecretError:
                continue  # who reads it gets the remedy
            same = _is(row.organization_id, row.owner_email)
            query = update(conversation_owners).where(same)
            await connection.execute(query.values(sealed=sealed))


def _is(number: int, email: str) -> ColumnElement[bool]:
    table = conversation_owners.c
    return (table.organization_id == number) & (table.owner_email == email)


def _named(identity: Identity) -> dict[str, str]:
    return {"slug": home(identity), "email": identity.subject}


def now() -> int:
    """Return the time in seconds."""
    return int(time.time())


def _place(number: int, email: str) -> tuple[str, str, int, str]:
    return "", "conversation_owners", number, email
