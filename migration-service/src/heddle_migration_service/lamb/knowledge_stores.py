"""LAMB's registry of knowledge stores. Their contents are at a server of their own."""

import hashlib
from collections.abc import Mapping, Sequence

from heddle.assistant.v1 import rows_pb2
from heddle_conversion import MalformedMetadataError, parse

from heddle_migration_service.lamb import users
from heddle_migration_service.lamb.kinds import Draft, Kind, drafted, times
from heddle_migration_service.lamb.organizations import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow, Value

TABLE = "knowledge_stores"
_COLUMNS = (
    *("name", "description", "owner_user_id", "organization_id", "is_shared"),
    *("embedding_vendor", "embedding_model", "embedding_endpoint", "created_at", "updated_at"),
)
_KEYLESS = frozenset({"local", "ollama"})
_NUMBER_BITS = 53  # what JavaScript counts exactly


def store_number(identifier: Value) -> int | None:
    """Return the number that stands for a knowledge store, which LAMB knows by a text alone."""
    if identifier in (None, b""):
        return None
    text = identifier if isinstance(identifier, bytes) else str(identifier).encode()
    digest = hashlib.blake2b(text, digest_size=8).digest()
    return (int.from_bytes(digest) >> (64 - _NUMBER_BITS)) or 1


async def _drafts(
    tables: LambTables, organizations: OrganizationSlugs, rows: Sequence[LambRow]
) -> list[Draft]:
    keys = {key for row in rows if (key := row.whole("owner_user_id")) is not None}
    owner_rows = await tables.matching(users.TABLE, "id", keys, ("user_email",))
    owners = {user.whole("id"): user.text("user_email") or "" for user in owner_rows}
    homes = {key for row in rows if (key := row.whole("organization_id")) is not None}
    configs = {
        row.whole("id"): row.text("config")
        for row in await tables.matching("organizations", "id", homes, ("config",))
    }
    return [
        _draft(row, organizations.of(row), owners, configs.get(row.whole("organization_id")))
        for row in rows
    ]


def _draft(
    row: LambRow, organization: str | None, owners: Mapping[int | None, str], config: str | None
) -> Draft:
    store_id = row.text("id") or ""
    name = row.text("name") or store_id
    owner = owners.get(row.whole("owner_user_id"), "")
    if not owner:
        row.notes.append("Its owner is no user.")
    vendor = row.text("embedding_vendor") or ""
    if vendor not in _KEYLESS and not _has_key(config, vendor):
        row.notes.append(
            f"Its organisation has no key of {vendor[:100]!r}, which embeds the questions: set "
            f"providers.{vendor[:100]}.api_key in the settings of the organisation."
        )
    values = {
        "organization": organization,
        "store_id": store_id,
        "owner_email": owner,
        "name": name,
        "description": row.text("description"),
        "is_shared": row.flag("is_shared"),
        "embedding_vendor": vendor,
        "embedding_model": row.text("embedding_model") or "",
        "embedding_endpoint": row.text("embedding_endpoint") or "",
        **times(row),
    }
    numbered = LambRow({**row.values, "id": store_number(row.values.get("id"))}, row.notes)
    draft = drafted(numbered, f"{name} ({store_id})", values)
    if not store_id:
        draft.refuse("It has no id, by which assistants name it.")
    return draft


def _has_key(config: str | None, vendor: str) -> bool:
    try:
        settings = parse(config)
    except MalformedMetadataError:
        return False
    nested = _member(_member(settings, "setups"), "default")
    places = (_member(_member(each, "providers"), vendor) for each in (settings, nested))
    return any(_member(provider, "api_key") for provider in places)


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


KNOWLEDGE_STORES = Kind(
    TABLE,
    _COLUMNS,
    "knowledge_stores",
    rows_pb2.KnowledgeStoreRow,
    ("store_id",),
    _drafts,
    is_recent=True,
)
