"""The memberships of one address in organisations, and how they sign in."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from heddle_runtime.identity.callers import ADMIN, DEFAULT_ORGANIZATION
from heddle_runtime.identity.permissions import scopes_of
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.api_keys import OPEN
from heddle_assistants.database.schema import organizations, passwords, users


@dataclass(frozen=True, slots=True)
class Membership:
    """A row of an address in the table of users, with its organisation and its password."""

    user_id: int
    email: str
    name: str
    role: str
    enabled: bool
    home: bool
    organization: str
    organization_name: str
    status: str
    imported_system: bool
    password: str | None = field(repr=False)
    all_organizations: bool | None
    """None if there is no password."""
    operator: bool = False
    """Whether the first operator has made the account."""

    @property
    def opens_all(self) -> bool:
        """Whether the password is valid for all organisations of the address."""
        return bool(self.all_organizations)

    @property
    def usable(self) -> bool:
        """Whether the user may act in the organisation."""
        return self.enabled and self.status in OPEN


Memberships = Sequence[Membership]


async def memberships(connection: AsyncConnection, email: str) -> Memberships:
    """Return all rows of an address in canonical form, the home first."""
    query = (
        select(
            *(users.c.id, users.c.email, users.c.name, users.c.role, users.c.enabled),
            *(users.c.home, organizations.c.slug, organizations.c.name, organizations.c.status),
            *(organizations.c.is_system, passwords.c.hash, passwords.c.all_organizations),
            users.c.operator,
        )
        .select_from(
            users.join(organizations, organizations.c.id == users.c.organization_id).outerjoin(
                passwords, passwords.c.user_id == users.c.id
            )
        )
        .where(users.c.email == email)
        .order_by(users.c.home.desc(), organizations.c.slug)
    )
    return [Membership(*tuple(row)) for row in await connection.execute(query)]


def with_password(rows: Memberships, organization: str) -> Membership | None:
    """Return the row whose password signs in to an organisation, None if there is none.

    The organisation's own password comes first, then one that opens all. Without an organisation,
    it is that of the home, then the first one.
    """
    having = [row for row in rows if row.password is not None]
    if not organization:
        return having[0] if having else None  # the home is the first
    own = (row for row in having if row.organization == organization)
    return next(own, None) or next((row for row in having if row.opens_all), None)


def with_address(rows: Memberships, organization: str) -> Membership | None:
    """Return the row to which a verified address signs in; None if there is none.

    An address that is disabled at home is disabled everywhere.
    """
    if any(row.home and not row.enabled for row in rows):
        return None
    usable = (row for row in rows if row.usable and organization in ("", row.organization))
    return next(usable, None)


def scopes(role: str, *, is_operator: bool) -> list[str]:
    """Return the scopes of a user's session."""
    return [ADMIN] if is_operator else [*scopes_of(role)]


def is_system(slug: str, *, imported_system: bool) -> bool:
    """Return whether an organisation is the operator's."""
    return imported_system or slug == DEFAULT_ORGANIZATION
