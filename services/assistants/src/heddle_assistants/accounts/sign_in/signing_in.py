"""Signs users in and out, and switches sessions between organisations."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import structlog
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.audit import Change
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    HeddleError,
    UnauthenticatedError,
)
from heddle_runtime.identity.call_metadata import caller, calling_as
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from msgspec.structs import replace
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.access import no_organization
from heddle_assistants.accounts.sign_in.group_claims import follow_claims
from heddle_assistants.accounts.sign_in.limits import SignInLimits
from heddle_assistants.accounts.sign_in.memberships import (
    Membership,
    Memberships,
    memberships,
    with_address,
    with_password,
)
from heddle_assistants.accounts.sign_in.password_hashes import PasswordHashes, is_outdated
from heddle_assistants.accounts.sign_in.passwords import check_length
from heddle_assistants.accounts.sign_in.sessions import (
    Sessions,
    StoredSession,
    end_of_address,
    end_of_session,
    end_of_users,
)
from heddle_assistants.accounts.users import Users
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import passwords

log = structlog.get_logger(__name__)
PASSWORD = "password"  # noqa: S105 - the name of a method
_VOUCHING = {"lamb", "lti"}
"""The providers that are methods: LAMB, which accepts passwords, and learning platforms."""
UNKNOWN_ADDRESS = "unknown"
Started = tuple[pb.Session, str]
"""A session and its token."""


@dataclass(eq=False, slots=True)
class SignIn:
    """Starts and ends sessions, and records both in the audit log."""

    database: Database
    audit: AuditLog
    sessions: Sessions
    hashes: PasswordHashes
    limits: SignInLimits
    users: Users

    async def with_password(self, request: pb.SignInRequest) -> Started:
        """Start a session with a password.

        Every attempt takes the same steps up to the refusal: it is counted, the rows of the address
        are read, and one hash is computed.

        Raises:
            InvalidRequestError: The password is too long.
            ResourceExhaustedError: Too many attempts failed, or too many users sign in now.
            UnauthenticatedError: The user is unknown or disabled, or the password is wrong.
        """
        check_length(request.password)
        email = canonical_email(request.email)
        attempt = await self.limits.begin(email, request.client)
        rows = await self.memberships(email)
        proof = with_password(rows, request.organization)
        hashed = proof.password if proof else None
        right = await self.hashes.matches(request.password, hashed)
        target = _target(rows, proof, request.organization) if right else None
        if proof is None or target is None:
            raise await self._refused(rows, "The e-mail address or the password is not correct.")
        started = await self._start(
            target, PASSWORD, all_organizations=proof.opens_all, proof=proof
        )
        await self._after(request.password, proof)
        await self.limits.succeeded(attempt)
        return started

    async def with_provider(self, request: pb.SignInWithProviderRequest) -> Started:
        """Start a session of an address that an identity provider has verified.

        Raises:
            UnauthenticatedError: No enabled user has the address, and none may be created.
        """
        email = canonical_email(request.email)
        allowed = request.organizations
        rows = await self.memberships(email)
        if request.HasField("new_user") and not _within(rows, allowed):
            await self._create(email, request.new_user)
            rows = await self.memberships(email)
        target = with_address(_within(rows, allowed), request.organization)
        if target is None:
            message = f"No user has the address {email[:200]}, or the user is disabled."
            raise await self._refused(rows, message)
        provider = request.provider
        method = provider if provider in _VOUCHING else f"oidc:{provider}"
        claims = None if request.groups_unknown else request.groups
        return await self._start(target, method, all_organizations=not allowed, claims=claims)

    async def switch(self, token: str, organization: str) -> Started:
        """Replace a session by one in another organisation, with the same end.

        Raises:
            NotFoundError: The session's user cannot act there.
            UnauthenticatedError: The token is not valid.
        """
        stored = await self.resolve(token)
        if not stored.all_organizations:
            raise no_organization(organization)
        rows = await self.memberships(stored.email)
        target = with_address(rows, organization)
        if target is None:
            raise no_organization(organization)
        with acting(target.email, target.organization):
            async with self.audit.writing() as (connection, changes):
                ended = await end_of_session(connection, stored.id)
                if not ended:  # another request has ended it
                    raise _ended()
                session, text = await self.sessions.start(
                    connection,
                    target,
                    stored.method,
                    all_organizations=True,
                    ends_at=stored.ends_at,
                )
                changes.append(_created(session))
        return session, text

    async def end(self, token: str, *, everywhere: bool) -> int:
        """End a session, or all of its user, and return how many. An unknown token ends none."""
        stored = await self.sessions.resolve(token)
        if stored is None:
            return 0
        with acting(stored.email, stored.organization):
            async with self.audit.writing() as (connection, changes):
                ended = await _end(connection, stored, everywhere=everywhere)
                before = {"user": stored.email, "everywhere": everywhere}
                change = Change("session.delete", stored.id, stored.organization, before=before)
                changes.append(change)
        return ended

    async def resolve(self, token: str) -> StoredSession:
        """Return the session of a token.

        Raises:
            UnauthenticatedError: The token is not valid.
        """
        stored = await self.sessions.resolve(token)
        if stored is None:
            raise _ended()
        return stored

    async def memberships(self, email: str) -> Memberships:
        """Return the memberships of an address in canonical form, the home first."""
        async with self.database.reading() as connection:
            return await memberships(connection, email)

    async def _start(
        self,
        member: Membership,
        method: str,
        *,
        all_organizations: bool,
        proof: Membership | None = None,
        claims: Sequence[str] | None = None,
    ) -> Started:
        with acting(member.email, member.organization):
            async with self.audit.writing() as (connection, changes):
                if proof is not None and not await _is_current(connection, proof):
                    raise _wrong("The password has changed. Sign in with the new one.")
                session, token = await self.sessions.start(
                    connection, member, method, all_organizations=all_organizations
                )
                changes.append(_created(session))
                if claims is not None:
                    await follow_claims(connection, member.organization, member.email, claims)
        return session, token

    async def _create(self, email: str, user: pb.NewUser) -> None:
        request = pb.PutUserRequest(
            email=email,
            organization=user.organization,
            role=user.role,
            name=user.name,
            only_new=True,
        )
        # Another request may create the user at the same time.
        with acting(email, user.organization), suppress(AlreadyExistsError, ConflictError):
            await self.users.put(request, home=None)

    async def _after(self, password: str, proof: Membership) -> None:
        """Store a hash with the current parameters, and delete expired sessions."""
        try:
            if proof.password is not None and is_outdated(proof.password):
                await self._rehash(password, proof)
            await self.sessions.forget()
            await self.limits.forget()
        except HeddleError as error:  # the user is signed in; the next sign-in tries again
            log.warning("clean-up after a sign-in failed", reason=error.reason)

    async def _rehash(self, password: str, proof: Membership) -> None:
        hashed = await self.hashes.hash(password)
        same = passwords.c.user_id == proof.user_id, passwords.c.hash == proof.password
        async with self.database.writing() as connection:
            await connection.execute(update(passwords).where(*same).values(hash=hashed))

    async def _refused(self, rows: Memberships, message: str) -> UnauthenticatedError:
        """Record a failed sign-in, also of an unknown address, and return its error."""
        email = rows[0].email if rows else UNKNOWN_ADDRESS
        organization = rows[0].organization if rows else ""
        with acting("", ""):  # the caller has proven no identity
            await self.audit.failed(Change("session.create", email, organization, refused=True))
        return _wrong(message)


def acting(email: str, organization: str) -> AbstractContextManager[None]:
    """Attribute the events of a block to a user instead of the calling service."""
    return calling_as(replace(caller(), identity=Identity(email, organization)))


def _target(rows: Memberships, proof: Membership | None, organization: str) -> Membership | None:
    if proof is None or not proof.enabled:
        return None
    if proof.opens_all:
        return with_address(rows, organization)
    return proof if proof.usable and organization in ("", proof.organization) else None


def _within(rows: Memberships, allowed: Sequence[str]) -> Memberships:
    return [row for row in rows if not allowed or row.organization in allowed]


async def _is_current(connection: AsyncConnection, proof: Membership) -> bool:
    """Return whether a password is still the one that was checked, and lock it."""
    query = select(passwords.c.hash).where(passwords.c.user_id == proof.user_id)
    return await connection.scalar(query.with_for_update()) == proof.password


async def _end(connection: AsyncConnection, stored: StoredSession, *, everywhere: bool) -> int:
    if not everywhere:
        return await end_of_session(connection, stored.id)
    ended = await end_of_users(connection, [stored.user_id])
    if stored.all_organizations:
        ended += await end_of_address(connection, stored.email)
    return ended


def _created(session: pb.Session) -> Change:
    after = {"user": session.user, "method": session.method, "scopes": " ".join(session.scopes)}
    return Change("session.create", session.id, session.organization, after=after)


def _wrong(message: str) -> UnauthenticatedError:
    return UnauthenticatedError(message, subject="sign-in")


def _ended() -> UnauthenticatedError:
    return UnauthenticatedError("The session has ended. Sign in again.", subject="session")
