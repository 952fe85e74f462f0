"""LAMB's registry of knowledge stores. Their contents are at a server of their own."""

import hashlib
from collections.abc import Sequence

from heddle.assistant.v1 import rows_pb2

from heddle_migration_service.lamb.kinds import Draft, Kind, drafted, times
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.users import owner_emails
from heddle_migration_service.lamb.values import LambRow, Value, settings_member

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
    owners = await owner_emails(tables, rows)
    homes = {key for row in rows if (key := row.whole("organization_id")) is not None}
    configs = {
        row.whole("id"): row.text("config")
        for row in await tables.matching("organizations", "id", homes, ("config",))
    }
    return [
        _draft(row, organizations.of(row), owner, configs.get(row.whole("organization_id")))
        for row, owner in zip(rows, owners, strict=True)
    ]


def _draft(row: LambRow, organization: str, owner: str, config: str | None) -> Draft:
    store_id = row.text("id") or ""
    name = row.text("name") or store_id
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
    number = store_number(row.values.get("id"))
    draft = drafted(row, f"{name} ({store_id})", values, number)
    if not store_id:
        draft.refuse("It has no id, by which assistants name it.")
    return draft


def _has_key(config: str | None, vendor: str) -> bool:
    path = ("providers", vendor, "api_key")
    return any(settings_member(config, *start, *path) for start in ((), ("setups", "default")))


KNOWLEDGE_STORES = Kind(
    TABLE,
    _COLUMNS,
    "knowledge_stores",
    rows_pb2.KnowledgeStoreRow,
    ("store_id",),
    _drafts,
    number=store_number,
    is_recent=True,
)
