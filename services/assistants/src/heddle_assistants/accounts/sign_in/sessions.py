"""The table of sessions."""

import hmac
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import structlog
from heddle.account.v1 import account_pb2 as pb
from heddle_conversion.identifiers import timestamp
from heddle_runtime.errors import HeddleError
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import and_, bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.api_keys import OPEN
from heddle_assistants.accounts.key_text import (
    NewKey,
    Peppers,
    new_token,
    token_digest,
    token_parts,
)
from heddle_assistants.accounts.sign_in.memberships import Membership, is_system, scopes
from heddle_assistants.database.schema import organizations, sessions, users

log = structlog.get_logger(__name__)
_COALESCED_SECONDS = 60
"""The time in which uses of a session are written once."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The duration of sessions, and the operators of the installation."""

    idle_seconds: int
    seconds: int
    operators: frozenset[str] = frozenset()
    """E-mail addresses in canonical form."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A row with its user and organisation; by default, one that no token fits."""

    id: str
    digest: bytes = field(repr=False)
    pepper_id: str = ""
    user_id: int = 0
    method: str = ""
    all_organizations: bool = False
    created_at: int = 0
    used_at: int = 0
    ends_at: int = 0
    email: str = ""
    name: str = ""
    role: str = ""
    enabled: bool = False
    organization: str = ""
    status: str = ""
    imported_system: bool = False
    enabled_at_home: bool | None = None
    operator: bool = False

    def is_open(self, now: float, idle_seconds: int) -> bool:
        """Return whether a token with this row is valid."""
        return all(
            (
                self.ends_at > now,
                self.used_at + idle_seconds > now,
                self.enabled,
                self.status in OPEN,
                not self.all_organizations or self.enabled_at_home is not False,
            )
        )

    def message(self, operators: frozenset[str]) -> pb.Session:
        """Return the session as callers receive it."""
        system = is_system(self.organization, imported_system=self.imported_system)
        named = self.operator or self.email in operators
        is_operator = self.all_organizations and system and named
        return pb.Session(
            id=self.id,
            user=self.email,
            organization=self.organization,
            scopes=scopes(self.role, is_operator=is_operator),
            role=self.role,
            name=self.name,
            method=self.method,
            all_organizations=self.all_organizations,
            create_time=timestamp(self.created_at),
            expire_time=timestamp(self.ends_at),
        )


class Sessions:
    """Starts, finds and ends sessions."""

    def __init__(self, database: Database, peppers: Peppers, limits: SessionLimits) -> None:
        self._database = database
        self._peppers = peppers
        self._limits = limits
        self._decoy = secrets.token_bytes(32)
        self._read = database.row_reader(_STORED.where(sessions.c.id == bindparam("id")))

    async def resolve(self, token: str) -> StoredSession | None:
        """Return the session of a token, and extend it; None if the token is not valid.

        Every text takes the same way: one read, one digest, one comparison.
        """
        identifier, secret = token_parts(token)
        row = await self._read(identifier)
        stored = StoredSession(*row) if row else StoredSession(identifier, self._decoy)
        digest = token_digest(self._peppers, secret, stored.pepper_id)
        right = hmac.compare_digest(digest, stored.digest)
        now = int(time.time())
        is_open = stored.is_open(now, self._limits.idle_seconds)
        if not right & (stored.pepper_id in self._peppers) & is_open:
            return None
        if stored.used_at <= now - _COALESCED_SECONDS:
            await self._touch(stored, now)
        return stored

    async def _touch(self, stored: StoredSession, now: int) -> None:
        """Store that a session was used, unless another replica has done so."""
        query = update(sessions).where(
            sessions.c.id == stored.id, sessions.c.used_at == stored.used_at
        )
        try:
            async with self._database.writing() as connection:
                await connection.execute(query.values(used_at=now))
        except HeddleError as error:  # the session is valid; its next use tries again
            log.warning("use of a session not stored", session=stored.id, reason=error.reason)

    def message(self, stored: StoredSession) -> pb.Session:
        """Return a session as callers receive it."""
        return stored.message(self._limits.operators)

    def is_operator(self, email: str) -> bool:
        """Return whether the environment names an address in canonical form as an operator."""
        return email in self._limits.operators

    async def start(
        self,
        connection: AsyncConnection,
        member: Membership,
        method: str,
        *,
        all_organizations: bool,
        ends_at: int | None = None,
    ) -> tuple[pb.Session, str]:
        """Start a session in a transaction, and return it with its token.

        Args:
            connection: The connection of the transaction.
            member: The user in the organisation of the session.
            method: How the user signed in.
            all_organizations: Whether the sign-in is valid in all organisations of the address.
            ends_at: When the session ends at the latest; None: after the time of the settings.
        """
        now = int(time.time())
        token: NewKey = new_token(self._peppers)
        values = {
            "id": token.id,
            "digest": token.digest,
            "pepper_id": self._peppers.current,
            "user_id": member.user_id,
            "method": method,
            "all_organizations": all_organizations,
            "created_at": now,
            "used_at": now,
            "ends_at": ends_at or now + self._limits.seconds,
        }
        await connection.execute(insert(sessions).values(**values))
        row = (await connection.execute(_STORED.where(sessions.c.id == token.id))).one()
        return self.message(StoredSession(*row)), token.text

    async def forget(self) -> None:
        """Delete expired sessions."""
        async with self._database.writing() as connection:
            ended = sessions.c.ends_at < int(time.time())
            await connection.execute(delete(sessions).where(ended))


async def end_of_session(connection: AsyncConnection, identifier: str) -> int:
    """End one session, and return the number of ended sessions."""
    result = await connection.execute(delete(sessions).where(sessions.c.id == identifier))
    return result.rowcount


async def end_of_users(connection: AsyncConnection, user_ids: Iterable[int]) -> int:
    """End all sessions of users, which are rows of organisations, and return their number."""
    query = delete(sessions).where(sessions.c.user_id.in_([*user_ids]))
    return (await connection.execute(query)).rowcount


async def end_of_address(connection: AsyncConnection, email: str) -> int:
    """End all sessions that can be switched between the organisations of an address."""
    of_address = select(users.c.id).where(users.c.email == email)
    query = delete(sessions).where(sessions.c.user_id.in_(of_address), sessions.c.all_organizations)
    return (await connection.execute(query)).rowcount


_at_home = users.alias("at_home")
_STORED = select(
    *(sessions.c.id, sessions.c.digest, sessions.c.pepper_id, sessions.c.user_id),
    *(sessions.c.method, sessions.c.all_organizations, sessions.c.created_at, sessions.c.used_at),
    *(sessions.c.ends_at, users.c.email, users.c.name, users.c.role, users.c.enabled),
    *(organizations.c.slug, organizations.c.status, organizations.c.is_system),
    *(_at_home.c.enabled.label("enabled_at_home"), users.c.operator),
).select_from(
    sessions.join(users, users.c.id == sessions.c.user_id)
    .join(organizations, organizations.c.id == users.c.organization_id)
    .outerjoin(_at_home, and_(_at_home.c.email == users.c.email, _at_home.c.home))
)
