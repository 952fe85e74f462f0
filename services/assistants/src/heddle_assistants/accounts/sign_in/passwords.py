"""The table of passwords."""

import secrets
import time
from dataclasses import dataclass

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.audit import Change
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import (
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    Violation,
)
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.identity.permissions import may_administer
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import insertion, upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts import access
from heddle_assistants.accounts.sign_in.limits import SignInLimits
from heddle_assistants.accounts.sign_in.memberships import Membership, memberships, with_password
from heddle_assistants.accounts.sign_in.password_hashes import PasswordHashes
from heddle_assistants.accounts.sign_in.sessions import Sessions, end_of_address, end_of_users
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import passwords

MIN_PASSWORD_CHARACTERS = 12
MAX_PASSWORD_CHARACTERS = 256
_MIN_DIFFERENT = 5
_MIN_NAME_CHARACTERS = 4
_GENERATED_BYTES = 15


def generated_password() -> str:
    """Return a password of 120 random bits."""
    return secrets.token_urlsafe(_GENERATED_BYTES)


def check_new_password(password: str, email: str) -> None:
    """Refuse a new password that breaks the rules.

    Raises:
        InvalidRequestError: It breaks one. The message does not repeat it.
    """
    check_length(password)
    if len(password) < MIN_PASSWORD_CHARACTERS:
        raise _wrong(f"must have at least {MIN_PASSWORD_CHARACTERS} characters")
    if len(set(password)) < _MIN_DIFFERENT:
        raise _wrong(f"must have at least {_MIN_DIFFERENT} different characters")
    name = email.partition("@")[0].casefold()
    if len(name) >= _MIN_NAME_CHARACTERS and name in password.casefold():
        raise _wrong("must not contain the name of the e-mail address")


def check_length(password: str) -> None:
    """Refuse a password that is longer than any that is stored.

    Raises:
        InvalidRequestError: It is.
    """
    if len(password) > MAX_PASSWORD_CHARACTERS:
        raise _wrong(f"must have at most {MAX_PASSWORD_CHARACTERS} characters")


def _wrong(what: str) -> InvalidRequestError:
    return InvalidRequestError("The password is not valid.", [Violation("password", what)])


@dataclass(eq=False, slots=True)
class Passwords:
    """Sets passwords."""

    database: Database
    audit: AuditLog
    sessions: Sessions
    hashes: PasswordHashes
    limits: SignInLimits

    async def change_own(self, request: pb.SetPasswordRequest, identity: Identity) -> None:
        """Change the password with which a caller signs in.

        Raises:
            InvalidRequestError: The caller has no password, the current one is wrong, or the new
                one is not valid.
            ResourceExhaustedError: Too many attempts failed.
        """
        check_new_password(request.password, identity.subject)
        check_length(request.current_password)
        attempt = await self.limits.begin(identity.subject, request.client)
        async with self.database.reading() as connection:
            rows = await memberships(connection, identity.subject)
        proof = with_password(rows, home(identity))
        hashed = proof.password if proof else None
        if not await self.hashes.matches(request.current_password, hashed) or proof is None:
            what = "is not correct. If you have none, ask an administrator for one"
            violation = Violation("current_password", what)
            raise InvalidRequestError("The password is not changed.", [violation])
        await self._store(proof, request.password, opens_all=proof.opens_all)
        await self.limits.succeeded(attempt)

    async def reset(self, request: pb.SetPasswordRequest, identity: Identity) -> str:
        """Set the password of a user, and return it if it was generated.

        Raises:
            InvalidRequestError: The password is not valid.
            NotFoundError: The organisation has no such user, or is none of the caller's.
            PermissionDeniedError: The user has more rights than the caller.
        """
        access.require_administrator(identity, request.organization)
        email = canonical_email(request.email)
        password = request.password or generated_password()
        if request.password:
            check_new_password(password, email)
        async with self.database.reading() as connection:
            rows = await memberships(connection, email)
        member = next((row for row in rows if row.organization == request.organization), None)
        if member is None:
            message = f"{request.organization!r} has no user {email[:200]!r}."
            raise NotFoundError(message, user=email[:200])
        is_operator = self.sessions.is_operator(email) or any(row.operator for row in rows)
        if is_operator and not may_administer(identity):
            raise PermissionDeniedError("Only operators set the passwords of operators.")
        # Administrators of an organisation must not sign in to others with what they set.
        await self._store(member, password, opens_all=member.home and may_administer(identity))
        return "" if request.password else password

    async def _store(self, member: Membership, password: str, *, opens_all: bool) -> None:
        hashed = await self.hashes.hash(password)
        async with self.audit.writing() as (connection, changes):
            await _put(connection, member.user_id, hashed, opens_all=opens_all)
            await end_of_users(connection, [member.user_id])
            if member.home:
                await end_of_address(connection, member.email)
            # The digests of an event are not made of the password: it has few possible values.
            changes.append(Change("user.password", member.email, member.organization, after={}))


async def _put(connection: AsyncConnection, user_id: int, hashed: str, *, opens_all: bool) -> None:
    values = {"hash": hashed, "changed_at": int(time.time()), "all_organizations": opens_all}
    query = insertion(connection, passwords).values(user_id=user_id, **values)
    await connection.execute(upsert(query))
