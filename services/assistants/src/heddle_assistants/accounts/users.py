"""The table of users."""

import time
from collections.abc import Sequence
from typing import Any

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.audit import Change, Members
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import AlreadyExistsError, ConflictError, NotFoundError
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Row, bindparam, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.checks import DEFAULT_ROLE
from heddle_assistants.accounts.organizations import organization_reader
from heddle_assistants.accounts.owner_organizations import existing_organization
from heddle_assistants.accounts.sign_in.sessions import end_of_address, end_of_users
from heddle_assistants.accounts.user_list import check_etag, no_user
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import organizations, passwords, users


class Users:
    """Reads and writes users."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._audit = audit
        self._member = database.row_reader(
            select(users.c.enabled, users.c.role)
            .join(organizations, organizations.c.id == users.c.organization_id)
            .where(users.c.email == bindparam("email"), organizations.c.slug == bindparam("slug"))
        )
        self._at_home = database.row_reader(
            select(users.c.enabled).where(users.c.email == bindparam("email"), users.c.home)
        )
        self._numbered = database.row_reader(
            select(users.c.email, organizations.c.slug, users.c.enabled, users.c.role)
            .join(organizations, organizations.c.id == users.c.organization_id)
            .where(users.c.id == bindparam("number"))
        )
        self._organization = organization_reader(database)

    async def standing(self, email: str, organization: str) -> pb.ResolveUserResponse:
        """Return the role of a person in an organisation."""
        email = canonical_email(email)
        if member := await self._member(email, organization):
            enabled, role = member
            if enabled:
                return pb.ResolveUserResponse(standing=pb.STANDING_USER, role=role)
            return pb.ResolveUserResponse(standing=pb.STANDING_DISABLED)
        at_home = await self._at_home(email)
        if at_home and not at_home[0] and await self._is_of_the_operator(organization):
            return pb.ResolveUserResponse(standing=pb.STANDING_DISABLED)
        return pb.ResolveUserResponse()

    async def numbered(self, number: int) -> pb.ResolveUserNumberResponse:
        """Return the user who has a number.

        Raises:
            NotFoundError: There is none.
        """
        row = await self._numbered(number)
        if row is None:
            raise NotFoundError(f"No user has the number {number}.")
        email, slug, enabled, role = row
        return pb.ResolveUserNumberResponse(
            email=email, organization=slug, disabled=not enabled, role=role
        )

    async def _is_of_the_operator(self, slug: str) -> bool:
        organization = await self._organization(slug)
        return organization is not None and organization.system

    async def put(self, user: pb.PutUserRequest, *, home: bool | None) -> None:
        """Create or change a user.

        Args:
            user: The user.
            home: Whether the organisation becomes the user's home: the user leaves the former one.
                If None, it becomes that of a new user without one.

        Raises:
            AlreadyExistsError: The user must be new, and is not.
            ConflictError: The user changed, or another caller created it at the same moment.
            NotFoundError: There is no such organisation, or no such user to change.
        """
        try:
            await self._put(user, canonical_email(user.email), home=home)
        except IntegrityError:
            raise ConflictError("The user was made at the same time. Try again.") from None

    async def _put(self, user: pb.PutUserRequest, email: str, *, home: bool | None) -> None:
        now = int(time.time())
        async with self._audit.writing() as (connection, changes):
            organization = await existing_organization(connection, user.organization)
            role = user.role or DEFAULT_ROLE
            values = {
                "organization_id": organization,
                "name": user.name,
                "role": role,
                "enabled": not user.disabled,
                "updated_at": now,
            }
            place = users.c.organization_id == organization
            query = _KNOWN.where(
                users.c.email == email, or_(place, users.c.home) if home else place
            )
            # The home comes first: the number that imported data has of the user moves with it.
            records = await connection.execute(
                query.order_by(users.c.home.desc()).with_for_update(of=users)
            )
            known, *others = [*records] or [None]
            _check_expected(user, [each for each in (known, *others) if each is not None])
            after = _members(user.organization, user.name, role, enabled=not user.disabled)
            if known is None:
                if home is None:
                    at_home = select(users.c.id).where(users.c.email == email, users.c.home)
                    home = await connection.scalar(at_home) is None
                new = insert(users).values(**values, email=email, home=home, created_at=now)
                await connection.execute(new)
                changes.append(Change("user.create", email, user.organization, after=after))
                return
            for other in others:
                await connection.execute(delete(users).where(users.c.id == other.id))
            await connection.execute(
                update(users)
                .where(users.c.id == known.id)
                .values(**values, home=home or known.home)
            )
            await _end_sign_in(connection, known, email, user)
            before = _members(known.slug, known.name, known.role, enabled=known.enabled)
            changes.append(Change("user.update", email, user.organization, before, after))
            if known.slug != user.organization:  # for the administrators who lose the user
                changes.append(Change("user.leave", email, known.slug, before=before))


def _check_expected(user: pb.PutUserRequest, known: Sequence[Row[Any]]) -> None:
    here = next((each for each in known if each.slug == user.organization), None)
    if user.only_new and here is not None:
        message = f"{user.organization!r} has the user {user.email!r} already."
        raise AlreadyExistsError(message)
    if user.etag and here is None:
        raise no_user(user.organization, user.email)
    if here is not None:
        check_etag(here, user.etag)


_KNOWN = select(
    *(users.c.id, users.c.home, organizations.c.slug),
    *(users.c.name, users.c.role, users.c.enabled),
).join(organizations, organizations.c.id == users.c.organization_id)


async def _end_sign_in(
    connection: AsyncConnection, known: Row[Any], email: str, user: pb.PutUserRequest
) -> None:
    """End the sessions of a user who is disabled or moves, and forget the password of the latter.

    Administrators of the former organisation may know it.
    """
    moves = known.slug != user.organization
    if not (moves or user.disabled):
        return
    await end_of_users(connection, [known.id])
    if known.home:
        await end_of_address(connection, email)
    if moves:
        await connection.execute(delete(passwords).where(passwords.c.user_id == known.id))


def _members(organization: str, name: str, role: str, *, enabled: bool) -> Members:
    return {"organization": organization, "name": name, "role": role, "disabled": not enabled}
