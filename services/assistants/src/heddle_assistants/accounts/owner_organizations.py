"""Finds the organisation of an owner, and creates it when it is first needed."""

import time

from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION, Identity, home
from heddle_runtime.identity.permissions import may_administer, may_administer_in, may_own
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.access import no_organization
from heddle_assistants.database.schema import organizations, users

_ORGANIZATION_OF_USER = select(organizations.c.slug).join(
    users, users.c.organization_id == organizations.c.id
)


async def create_default_organization(database: Database) -> None:
    """Create the operator's organisation, unless it exists."""
    now = int(time.time())
    slug = DEFAULT_ORGANIZATION
    # The id 0, so that imported organisations, which count from 1, keep their ids.
    row = {"id": 0, "slug": slug, "name": slug, "created_at": now, "updated_at": now}
    async with database.writing() as connection:
        query = insertion(connection, organizations).values(row)
        await connection.execute(query.on_conflict_do_nothing())


async def organization_id(connection: AsyncConnection, slug: str) -> int:
    """Return the id of an organisation, which is created if it has no row yet."""
    query = select(organizations.c.id).where(organizations.c.slug == slug)
    identifier: int | None = await connection.scalar(query)
    if identifier is None:
        now = int(time.time())
        row = {"slug": slug, "name": slug, "created_at": now, "updated_at": now}
        # Another replica may make it at this moment.
        await connection.execute(
            insertion(connection, organizations).values(row).on_conflict_do_nothing()
        )
        identifier = (await connection.execute(query)).scalar_one()
    return identifier


async def existing_organization(connection: AsyncConnection, slug: str) -> int:
    """Return the id of an organisation.

    Raises:
        NotFoundError: There is none.
    """
    query = select(organizations.c.id).where(organizations.c.slug == slug)
    identifier: int | None = await connection.scalar(query)
    if identifier is None:
        raise no_organization(slug)
    return identifier


async def organization_of(connection: AsyncConnection, owner: str) -> str | None:
    """Return the slug of a user's home organisation, if it is known."""
    if "\0" in owner:  # which PostgreSQL does not compare
        return None
    query = _ORGANIZATION_OF_USER.where(users.c.email == canonical_email(owner), users.c.home)
    slug: str | None = await connection.scalar(query)
    return slug


async def is_user_of(connection: AsyncConnection, email: str, organization: str) -> bool:
    """Return whether an organisation has a user."""
    if "\0" in email:
        return False
    query = _ORGANIZATION_OF_USER.where(
        users.c.email == canonical_email(email), organizations.c.slug == organization
    )
    return await connection.scalar(query) is not None


async def owner_of_new(
    connection: AsyncConnection, identity: Identity, owner: str
) -> tuple[str, str]:
    """Return the owner of a new thing that `identity` creates for `owner`, and the organisation.

    The owner's organisation pays for an assistant. So administrators of an organisation create
    things for its users only. Other users get the same answer as unknown ones.

    Raises:
        PermissionDeniedError: `identity` may not make one for that owner.
    """
    owner = canonical_email(owner)
    if not owner or owner == identity.subject:
        if not may_own(identity):
            raise PermissionDeniedError(
                "The key of an organisation owns nothing. Name an owner, or use a user's key."
            )
        return identity.subject, home(identity)
    own = home(identity)
    if may_administer(identity):
        return owner, await organization_of(connection, owner) or own
    if may_administer_in(identity, own) and await is_user_of(connection, owner, own):
        return owner, own
    raise PermissionDeniedError(
        "Only an administrator may make something for somebody else, a user of the organisation."
    )
