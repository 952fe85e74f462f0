"""The table of users."""

import time
from dataclasses import dataclass

from heddle_runtime.errors import AlreadyExistsError, ConflictError
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from heddle_migration_service.accounts.access import no_organization
from heddle_migration_service.database.engine import Database
from heddle_migration_service.database.schema import organizations, users


@dataclass(frozen=True, slots=True)
class User:
    """A user as he shall be."""

    email: str
    organization: str
    name: str
    role: str
    enabled: bool


class Users:
    """Writes users."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, user: User, *, may_move: bool) -> None:
        """Make or change a user.

        Args:
            user: Who.
            may_move: Whether he may come from another organisation.

        Raises:
            AlreadyExistsError: He is in another organisation.
            ConflictError: Somebody else made the user at the same moment.
            NotFoundError: There is no such organisation.
        """
        try:
            await self._put(user, may_move=may_move)
        except IntegrityError:
            raise ConflictError("The user was made at the same time. Try again.") from None

    async def _put(self, user: User, *, may_move: bool) -> None:
        now = int(time.time())
        async with self._database.writing() as connection:
            organization = await connection.scalar(
                select(organizations.c.id).where(organizations.c.slug == user.organization)
            )
            if organization is None:
                raise no_organization(user.organization)
            values = {
                "organization_id": organization,
                "name": user.name,
                "role": user.role,
                "enabled": user.enabled,
                "updated_at": now,
            }
            query = select(users.c.organization_id).where(users.c.email == user.email)
            known = await connection.scalar(query.with_for_update())
            if known is None:
                query_new = insert(users).values(**values, email=user.email, created_at=now)
                await connection.execute(query_new)
                return
            if known != organization and not may_move:
                raise AlreadyExistsError("The address belongs to somebody elsewhere.")
            await connection.execute(
                update(users).where(users.c.email == user.email).values(**values)
            )
