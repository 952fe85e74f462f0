"""The users of organisations: listing, reading and removing them."""

import hashlib
import json
from typing import Any

from heddle.account.v1 import account_pb2 as pb
from heddle_conversion.identifiers import timestamp
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import ConflictError, NotFoundError
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Row, delete, func, select

from heddle_assistants.accounts.owner_organizations import existing_organization
from heddle_assistants.accounts.sign_in.sessions import end_of_address
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.paging import contains
from heddle_assistants.database.schema import organizations, passwords, sessions, users

_ACTIVE = (
    select(func.max(sessions.c.used_at)).where(sessions.c.user_id == users.c.id).scalar_subquery()
)
_PASSWORD = select(passwords.c.user_id).where(passwords.c.user_id == users.c.id).exists()
_LISTED = select(
    *(users.c.id, users.c.email, organizations.c.slug, users.c.name, users.c.role),
    *(users.c.enabled, users.c.home, users.c.created_at),
    _PASSWORD.label("has_password"),
    _ACTIVE.label("active_at"),
).join(organizations, organizations.c.id == users.c.organization_id)


class UserList:
    """Reads and removes users."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    async def get(self, organization: str, email: str) -> pb.GetUserResponse:
        """Return a user.

        Raises:
            NotFoundError: The organisation has no such user.
        """
        async with self._database.reading() as connection:
            row = (await connection.execute(_one(organization, email))).one_or_none()
        if row is None:
            raise no_user(organization, email)
        return pb.GetUserResponse(user=_user(row), etag=etag_of(row))

    async def listed(self, request: pb.ListUsersRequest, after: str, limit: int) -> list[pb.User]:
        """Return users in the order of their addresses.

        Args:
            request: The organisation and the filters.
            after: The address before the first.
            limit: The maximum number of results.

        Raises:
            NotFoundError: There is no such organisation.
        """
        query = _LISTED.where(
            organizations.c.slug == request.organization,
            contains(request.text, users.c.email, users.c.name),
            users.c.email > after,
        )
        if request.role:
            query = query.where(users.c.role == request.role)
        async with self._database.reading() as connection:
            await existing_organization(connection, request.organization)
            rows = await connection.execute(query.order_by(users.c.email).limit(limit))
            return [_user(row) for row in rows]

    async def remove(self, organization: str, email: str, etag: str) -> None:
        """Remove a user with the password and the sessions. Keys are refused without the user.

        Raises:
            ConflictError: The user changed since the caller read it.
            NotFoundError: The organisation has no such user.
        """
        async with self._audit.writing() as (connection, changes):
            query = _one(organization, email).with_for_update(of=users)
            row = (await connection.execute(query)).one_or_none()
            if row is None:
                raise no_user(organization, email)
            check_etag(row, etag)
            if row.home:
                await end_of_address(connection, email)
            await connection.execute(delete(users).where(users.c.id == row.id))
            before = {
                "organization": organization,
                "name": row.name,
                "role": row.role,
                "disabled": not row.enabled,
            }
            changes.append(Change("user.delete", email, organization, before=before))


def _one(organization: str, email: str) -> Any:  # noqa: ANN401 - a query of many columns
    return _LISTED.where(organizations.c.slug == organization, users.c.email == email)


def no_user(organization: str, email: str) -> NotFoundError:
    """Return the error about a user whom the organisation does not have."""
    return NotFoundError(f"{organization[:63]!r} has no user {email[:200]!r}.")


def etag_of(row: Row[Any]) -> str:
    """Return a text that changes with every change of the user."""
    parts = json.dumps([row.id, row.slug, row.name, row.role, row.enabled, row.home])
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def check_etag(row: Row[Any], etag: str) -> None:
    """Refuse to change a user that changed since the caller read it."""
    if etag and etag != etag_of(row):
        raise ConflictError("The user changed since it was read. Read it again.")


def _user(row: Row[Any]) -> pb.User:
    return pb.User(
        email=row.email,
        organization=row.slug,
        name=row.name,
        role=row.role,
        disabled=not row.enabled,
        home=row.home,
        has_password=row.has_password,
        create_time=timestamp(row.created_at or None),
        last_active_time=timestamp(row.active_at),
    )
