"""The table of API keys."""

import hmac
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

import structlog
from heddle.account.v1 import account_pb2 as pb
from heddle_conversion.identifiers import timestamp
from heddle_runtime.contract.audit import Change, Members
from heddle_runtime.errors import HeddleError, InvalidRequestError, NotFoundError, Violation
from heddle_runtime.identity.callers import ADMIN, CREATOR, ORGANIZATION_ADMIN
from heddle_runtime.identity.permissions import scopes_of
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Row,
    and_,
    bindparam,
    func,
    insert,
    or_,
    select,
    update,
)

from heddle_assistants.accounts.key_text import Peppers, new_key, parts
from heddle_assistants.accounts.owner_organizations import existing_organization
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import api_keys, organizations, users

log = structlog.get_logger(__name__)
OPEN = ("active", "trial")
"""The statuses of organisations that may work."""
_COALESCED_SECONDS = 60
"""The time in which uses of a key are written once."""


class ApiKeys:
    """Makes, finds and revokes keys."""

    def __init__(self, database: Database, audit: AuditLog, peppers: Peppers) -> None:
        self._database = database
        self._audit = audit
        self._peppers = peppers
        self._decoy = secrets.token_bytes(32)
        self._read = database.row_reader(_CHECKED)

    async def holder(self, text: str) -> pb.ResolveKeyResponse | None:
        """Return the user of a key; None if the key is not valid, for whatever reason.

        Every text takes the same steps: one read, one digest, one comparison. So the time that an
        answer takes does not reveal whether a key exists.
        """
        identifier, secret = parts(text)
        row = await self._read(identifier)
        known = _Checked(*row) if row else _Checked(identifier, self._decoy)
        digest = self._peppers.digest(secret, known.pepper_id)
        right = hmac.compare_digest(digest, known.digest)
        now = int(time.time())
        if not right & (known.pepper_id in self._peppers) & known.is_open(now):
            return None
        is_old = (known.used_at or 0) <= now - _COALESCED_SECONDS
        if is_old or known.pepper_id != self._peppers.current:
            await self._note_use(known, secret, now)
        return known.holder()

    async def _note_use(self, known: "_Checked", secret: str, now: int) -> None:
        """Store when a valid key was used, and its digest with the current pepper."""
        current = self._peppers.current
        same = api_keys.c.id == known.id, api_keys.c.pepper_id == known.pepper_id
        query = update(api_keys).where(*same)
        values: dict[str, object] = {"used_at": now}
        if known.pepper_id != current:
            values |= {"digest": self._peppers.digest(secret, current), "pepper_id": current}
        try:
            async with self._database.writing() as connection:
                await connection.execute(query.values(**values))
        except HeddleError as error:  # the key is valid; its next use tries again
            log.warning("use of a key not stored", key=known.id, reason=error.reason)

    async def require_peppers(self) -> None:
        """Check that the pepper of every usable key is known.

        Raises:
            ValueError: It is not. The message names the setting and the remedy.
        """
        unusable = _USABLE.where(api_keys.c.pepper_id.not_in(self._peppers.ids))
        async with self._database.reading() as connection:
            count = await connection.scalar(unusable, {"now": int(time.time())})
        if count:
            raise ValueError(
                f"{count} API keys were made with a pepper that is not in "
                "HEDDLE_ASSISTANTS_KEY_PEPPER, and would be refused. Add the former pepper after "
                "a comma: NEW,FORMER. A pepper that the service generated is in the file beside "
                "the SQLite database that ends in .pepper. If the pepper is lost, set "
                "HEDDLE_ASSISTANTS_SECRETS_LOST=true once and create new keys."
            )

    async def make(self, requested: pb.Key) -> pb.CreateKeyResponse:
        """Make a key.

        Raises:
            InvalidRequestError: There is no such user in the organisation, or not of that role.
            NotFoundError: There is no such organisation.
        """
        generated = new_key(self._peppers)
        expires = requested.expire_time.seconds if requested.HasField("expire_time") else None
        async with self._audit.writing() as (connection, changes):
            organization = await existing_organization(connection, requested.organization)
            if requested.user:
                query_role = select(users.c.role).where(
                    users.c.email == requested.user, users.c.organization_id == organization
                )
                _check_role(requested, await connection.scalar(query_role))
            await connection.execute(
                insert(api_keys).values(
                    id=generated.id,
                    name=requested.name,
                    digest=generated.digest,
                    pepper_id=self._peppers.current,
                    organization_id=organization,
                    user_email=requested.user or None,
                    scopes=" ".join(dict.fromkeys(requested.scopes)),
                    trusted=requested.trusted,
                    created_at=int(time.time()),
                    expires_at=expires,
                )
            )
            row = (await connection.execute(_LISTED.where(api_keys.c.id == generated.id))).one()
            key = self._key(row)
            changes.append(Change("key.create", key.id, key.organization, after=_members(key)))
        return pb.CreateKeyResponse(key=key, secret=generated.text)

    async def listed(
        self, where: ColumnElement[bool], after: tuple[int, str] | None, limit: int
    ) -> list[pb.Key]:
        """Return keys, the newest first.

        Args:
            where: The condition of the keys.
            after: The time and the id of the key before the first.
            limit: The maximum number of results.
        """
        query = _LISTED.where(where)
        if after is not None:
            created, identifier = after
            query = query.where(
                or_(
                    api_keys.c.created_at < created,
                    and_(api_keys.c.created_at == created, api_keys.c.id < identifier),
                )
            )
        query = query.order_by(api_keys.c.created_at.desc(), api_keys.c.id.desc()).limit(limit)
        async with self._database.reading() as connection:
            return [self._key(row) for row in await connection.execute(query)]

    async def revoke(self, identifier: str, where: ColumnElement[bool]) -> pb.Key:
        """Revoke a key; one that was revoked before stays so.

        Raises:
            NotFoundError: There is no such key among those of `where`.
        """
        query = _LISTED.where(api_keys.c.id == identifier, where)
        async with self._audit.writing() as (connection, changes):
            row = (await connection.execute(query)).one_or_none()
            if row is None:
                raise NotFoundError(f"No key has the id {identifier[:64]!r}.")
            revoked = func.coalesce(api_keys.c.revoked_at, int(time.time()))
            await connection.execute(
                update(api_keys).where(api_keys.c.id == identifier).values(revoked_at=revoked)
            )
            key = self._key((await connection.execute(query)).one())
            members = _members(self._key(row)), _members(key)
            changes.append(Change("key.revoke", key.id, key.organization, *members))
            return key

    def _key(self, row: Row[*tuple[Any, ...]]) -> pb.Key:
        return pb.Key(
            id=row.id,
            name=row.name,
            organization=row.slug,
            user=row.user_email or "",
            scopes=row.scopes.split(),
            trusted=row.trusted,
            create_time=timestamp(row.created_at),
            expire_time=timestamp(row.expires_at),
            revoke_time=timestamp(row.revoked_at),
            former_pepper=row.pepper_id != self._peppers.current,
            last_use_time=timestamp(row.used_at),
        )


def _members(key: pb.Key) -> Members:
    return {
        "name": key.name,
        "user": key.user,
        "scopes": " ".join(key.scopes),
        "trusted": key.trusted,
        "expire_time": key.expire_time.ToJsonString() if key.HasField("expire_time") else None,
        "revoked": key.HasField("revoke_time"),
    }


@dataclass(frozen=True, slots=True)
class _Checked:
    """The row against which a key is checked; by default, a row that no key fits."""

    id: str
    digest: bytes = field(repr=False)
    pepper_id: str = ""
    organization: str = ""
    status: str = ""
    user: str | None = None
    scopes: str = ""
    trusted: bool = False
    expires_at: int | None = 0
    revoked_at: int | None = 0
    used_at: int | None = 0
    role: str | None = None
    enabled: bool | None = None

    def is_open(self, now: float) -> bool:
        """Return whether a key with this row is valid."""
        return all(
            (
                self.revoked_at is None,
                self.expires_at is None or self.expires_at > now,
                self.status in OPEN,
                self.user is None or bool(self.enabled),
            )
        )

    def holder(self) -> pb.ResolveKeyResponse:
        """Return the user of the key."""
        scopes = self.scopes.split()
        if self.user is not None:  # with the role of now, not of when the key was created
            of_role = scopes_of(self.role or "")
            scopes = [each for each in scopes if each == ADMIN or each in of_role]
            scopes += [CREATOR] if CREATOR in of_role else []
        subject = self.user if self.user is not None else f"key:{self.id}"
        return pb.ResolveKeyResponse(
            subject=subject,
            organization=self.organization,
            scopes=scopes,
            trusted=self.trusted,
            key_id=self.id,
            expire_time=timestamp(self.expires_at),
        )


_KEYS_OF_ORGANIZATIONS = api_keys.join(
    organizations, organizations.c.id == api_keys.c.organization_id
)
_CHECKED = (
    select(
        api_keys.c.id,
        api_keys.c.digest,
        api_keys.c.pepper_id,
        organizations.c.slug,
        organizations.c.status,
        api_keys.c.user_email,
        api_keys.c.scopes,
        api_keys.c.trusted,
        api_keys.c.expires_at,
        api_keys.c.revoked_at,
        api_keys.c.used_at,
        users.c.role,
        users.c.enabled,
    )
    .select_from(
        _KEYS_OF_ORGANIZATIONS.outerjoin(
            users,
            # Who went to another organisation left his keys behind.
            and_(
                users.c.email == api_keys.c.user_email,
                users.c.organization_id == api_keys.c.organization_id,
            ),
        )
    )
    .where(api_keys.c.id == bindparam("id"))
)
_LISTED = select(
    api_keys.c.id,
    api_keys.c.name,
    organizations.c.slug,
    api_keys.c.user_email,
    api_keys.c.scopes,
    api_keys.c.trusted,
    api_keys.c.created_at,
    api_keys.c.expires_at,
    api_keys.c.revoked_at,
    api_keys.c.pepper_id,
    api_keys.c.used_at,
).select_from(_KEYS_OF_ORGANIZATIONS)


def usable(now: int | BindParameter[int]) -> ColumnElement[bool]:
    """Return the condition of the keys that are neither revoked nor expired."""
    not_expired = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now)
    return and_(api_keys.c.revoked_at.is_(None), not_expired)


_USABLE = select(func.count()).select_from(api_keys).where(usable(bindparam("now")))


def _check_role(requested: pb.Key, role: str | None) -> None:
    if role is None:
        message = f"{requested.organization!r} has no such user"
        raise InvalidRequestError("The key cannot be made.", [Violation("key.user", message)])
    if ORGANIZATION_ADMIN in requested.scopes and role != "admin":
        message = f"{ORGANIZATION_ADMIN!r} is for users with the role 'admin'"
        raise InvalidRequestError("The key cannot be made.", [Violation("key.scopes", message)])
