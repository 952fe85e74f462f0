"""The table of users."""

import time

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.audit import Change, Members
from heddle_runtime.errors import AlreadyExistsError, ConflictError
from heddle_runtime.identity import DEFAULT_ORGANIZATION
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from heddle_assistants.accounts.access import no_organization
from heddle_assistants.accounts.checks import DEFAULT_ROLE
from heddle_assistants.accounts.organizations import organization_reader
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.engine import Database
from heddle_assistants.database.schema import organizations, users


class Users:
    """Reads and writes users."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._audit = audit
        at_home = users.join(organizations, organizations.c.id == users.c.organization_id)
        self._known = database.row_reader(
            select(users.c.enabled, organizations.c.slug)
            .select_from(at_home)
            .where(users.c.email == bindparam("email"))
        )
        self._organization = organization_reader(database)

    async def standing(self, email: str, organization: str) -> pb.Standing.ValueType:
        """Return what a person is to an organisation."""
        user = await self._known(email)
        if user is None:
            return pb.STANDING_UNSPECIFIED
        enabled, home = user
        if home == organization:
            return pb.STANDING_USER if enabled else pb.STANDING_DISABLED
        if not enabled and await self._is_of_the_operator(organization):
            return pb.STANDING_DISABLED
        return pb.STANDING_UNSPECIFIED

    async def _is_of_the_operator(self, slug: str) -> bool:
        organization = await self._organization(slug)
        return slug == DEFAULT_ORGANIZATION if organization is None else organization.system

    async def put(self, user: pb.PutUserRequest, *, may_move: bool) -> None:
        """Make or change a user.

        Args:
            user: Who.
            may_move: Whether he may come from another organisation.

        Raises:
            AlreadyExistsError: He is in another organisation.
            ConflictError: Another caller made the user at the same moment.
            NotFoundError: There is no such organisation.
        """
        try:
            await self._put(user, may_move=may_move)
        except IntegrityError:
            raise ConflictError("The user was made at the same time. Try again.") from None

    async def _put(self, user: pb.PutUserRequest, *, may_move: bool) -> None:
        now = int(time.time())
        async with self._audit.writing() as (connection, changes):
            organization = await connection.scalar(
                select(organizations.c.id).where(organizations.c.slug == user.organization)
            )
            if organization is None:
                raise no_organization(user.organization)
            values = {
                "organization_id": organization,
                "name": user.name,
                "role": user.role or DEFAULT_ROLE,
                "enabled": not user.disabled,
                "updated_at": now,
            }
            query = _KNOWN.where(users.c.email == user.email)
            record = (await connection.execute(query.with_for_update(of=users))).one_or_none()
            after = _members(
                user.organization, values["name"], values["role"], enabled=not user.disabled
            )
            if record is None:
                query_new = insert(users).values(**values, email=user.email, created_at=now)
                await connection.execute(query_new)
                changes.append(Change("user.create", user.email, user.organization, after=after))
                return
            known, slug, *members = record
            if known != organization and not may_move:
                raise AlreadyExistsError("The address belongs to somebody elsewhere.")
            await connection.execute(
                update(users).where(users.c.email == user.email).values(**values)
            )
            before = _members(slug, *members[:2], enabled=members[2])
            changes.append(Change("user.update", user.email, user.organization, before, after))
            if slug != user.organization:  # for the administrators who lose the user
                changes.append(Change("user.leave", user.email, slug, before=before))


_KNOWN = select(
    users.c.organization_id, organizations.c.slug, users.c.name, users.c.role, users.c.enabled
).join(organizations, organizations.c.id == users.c.organization_id)


def _members(organization: str, name: str, role: str, *, enabled: bool) -> Members:
    return {"organization": organization, "name": name, "role": role, "disabled": not enabled}
