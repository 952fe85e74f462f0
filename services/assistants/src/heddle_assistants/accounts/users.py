"""The table of users."""

import time

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.audit import Change, Members
from heddle_runtime.email_address import canonical_email
from heddle_runtime.errors import ConflictError
from heddle_runtime.identity import DEFAULT_ORGANIZATION
from sqlalchemy import bindparam, delete, insert, or_, select, update
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
        self._member = database.row_reader(
            select(users.c.enabled)
            .join(organizations, organizations.c.id == users.c.organization_id)
            .where(users.c.email == bindparam("email"), organizations.c.slug == bindparam("slug"))
        )
        self._at_home = database.row_reader(
            select(users.c.enabled).where(users.c.email == bindparam("email"), users.c.home)
        )
        self._organization = organization_reader(database)

    async def standing(self, email: str, organization: str) -> pb.Standing.ValueType:
        """Return what a person is to an organisation."""
        email = canonical_email(email)
        if member := await self._member(email, organization):
            return pb.STANDING_USER if member[0] else pb.STANDING_DISABLED
        at_home = await self._at_home(email)
        if at_home and not at_home[0] and await self._is_of_the_operator(organization):
            return pb.STANDING_DISABLED
        return pb.STANDING_UNSPECIFIED

    async def _is_of_the_operator(self, slug: str) -> bool:
        organization = await self._organization(slug)
        return slug == DEFAULT_ORGANIZATION if organization is None else organization.system

    async def put(self, user: pb.PutUserRequest, *, home: bool) -> None:
        """Create or change a user.

        Args:
            user: The user.
            home: Whether the organisation becomes the user's home: the user leaves the former one.

        Raises:
            ConflictError: Another caller created the user at the same moment.
            NotFoundError: There is no such organisation.
        """
        try:
            await self._put(user, canonical_email(user.email), home=home)
        except IntegrityError:
            raise ConflictError("The user was made at the same time. Try again.") from None

    async def _put(self, user: pb.PutUserRequest, email: str, *, home: bool) -> None:
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
            place = users.c.organization_id == organization
            query = _KNOWN.where(
                users.c.email == email, or_(place, users.c.home) if home else place
            )
            # The home comes first: the number that LAMB's data has of the user moves with it.
            records = await connection.execute(
                query.order_by(users.c.home.desc()).with_for_update(of=users)
            )
            known, *others = [*records] or [None]
            after = _members(
                user.organization, values["name"], values["role"], enabled=not user.disabled
            )
            if known is None:
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
            before = _members(known.slug, known.name, known.role, enabled=known.enabled)
            changes.append(Change("user.update", email, user.organization, before, after))
            if known.slug != user.organization:  # for the administrators who lose the user
                changes.append(Change("user.leave", email, known.slug, before=before))


_KNOWN = select(
    *(users.c.id, users.c.home, organizations.c.slug),
    *(users.c.name, users.c.role, users.c.enabled),
).join(organizations, organizations.c.id == users.c.organization_id)


def _members(organization: str, name: str, role: str, *, enabled: bool) -> Members:
    return {"organization": organization, "name": name, "role": role, "disabled": not enabled}
