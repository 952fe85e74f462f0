"""LAMB's creator users."""

from collections.abc import Sequence

from heddle.assistant.v1 import rows_pb2
from heddle_conversion import MalformedMetadataError, parse
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import InvalidRequestError

from heddle_migration_service.lamb.kinds import Draft, Kind, drafted, times
from heddle_migration_service.lamb.organization_slugs import UNASSIGNED, OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

TABLE = "Creator_users"
_ROLES = "organization_roles"
_ADMINISTRATORS = ("owner", "admin")
_COLUMNS = (
    *("organization_id", "user_email", "user_name", "user_type", "enabled"),
    *("created_at", "updated_at"),
)
_Roles = frozenset[tuple[int | None, int | None]]


async def _drafts(
    tables: LambTables, organizations: OrganizationSlugs, rows: Sequence[LambRow]
) -> list[Draft]:
    keys = [key for row in rows if (key := row.whole("id")) is not None]
    roles = await tables.matching(_ROLES, "user_id", keys, ("organization_id", "role"))
    administrators = frozenset(
        (role.whole("user_id"), role.whole("organization_id"))
        for role in roles
        if role.text("role") in _ADMINISTRATORS
    )
    return [_draft(row, organizations, administrators) for row in rows]


def _draft(row: LambRow, organizations: OrganizationSlugs, administrators: _Roles) -> Draft:
    email = row.text("user_email") or ""
    organization = organizations.of(row)
    role = "member" if row.text("user_type") == "end_user" else "creator"
    # Nobody administers what others have lost their organisation with.
    key = (row.whole("id"), row.whole("organization_id"))
    if organization != UNASSIGNED and key in administrators:
        role = "admin"
    values = {
        "organization": organization,
        "email": email,
        "name": row.text("user_name") or "",
        "role": role,
        "enabled": row.flag("enabled", default=True),
        **times(row),
    }
    draft = drafted(row, email, values)
    if not email.strip():
        draft.refuse("It has no e-mail address, by which Heddle knows a user.")
    return draft


async def owner_emails(tables: LambTables, rows: Sequence[LambRow]) -> list[str]:
    """Return the e-mail address of the owner of each row; empty, with a note, if it is no user."""
    keys = {key for row in rows if (key := row.whole("owner_user_id")) is not None}
    records = await tables.matching(TABLE, "id", keys, ("user_email",))
    emails = {user.whole("id"): user.text("user_email") or "" for user in records}
    owners = [emails.get(row.whole("owner_user_id"), "") for row in rows]
    for row, owner in zip(rows, owners, strict=True):
        if not owner:
            row.notes.append("Its owner is no user.")
    return owners


def missing_users(row: LambRow) -> list[tuple[str, str]]:
    """Return the addresses and names in a list of users whose accounts LAMB could not create."""
    try:
        results = parse(row.text("details")).get("results")
    except MalformedMetadataError:
        raise InvalidRequestError("The list cannot be read.") from None
    entries = results if isinstance(results, list) else []  # lists of others have no addresses
    return [
        (canonical_email(str(each.get("email", ""))), str(each.get("name") or ""))
        for each in entries
        if isinstance(each, dict) and each.get("status") == "failed"
    ]


USERS = Kind(TABLE, _COLUMNS, "users", rows_pb2.UserRow, ("email",), _drafts)
