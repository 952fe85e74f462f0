"""One log line for each assistant that was migrated.

Its members are those that programs of operators read. What would tell about people or hold a secret
is not in them: of a document there are only the names of its members and a digest, by which it is
found in the database, and in place of the owner a pseudonym, the same in one run of the service.
"""

import hashlib
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from heddle_conversion import Conversion, parse
from heddle_runtime.redaction import redact_personal

from heddle_assistants.database.assistant_row import MigratedRow

log = logging.getLogger("lamb.migration")
_PEPPER = secrets.token_bytes(16)
_MOST_NAMES = 40
_LONGEST_NAME = 60
_DIGITS = 16


def log_migration(row: MigratedRow, conversion: Conversion, migrated: str | None) -> None:
    """Log the migration of a row. Call it when the result is on disk.

    Args:
        row: The row before.
        conversion: The converted metadata.
        migrated: Its text, as it is stored.
    """
    if not log.isEnabledFor(logging.INFO):
        return
    log.info(
        "Migrated assistant %s from v%s to v%s",
        row.id,
        conversion.from_version,
        conversion.to_version,
        extra={
            "assistant_id": row.id,
            "assistant_name": redact_personal(row.name),
            "owner": pseudonym(row.owner),
            "old_metadata": described(row.metadata, parse(row.metadata)),
            "new_metadata": described(migrated, conversion.metadata),
            "from_version": conversion.from_version,
            "to_version": conversion.to_version,
        },
    )


def pseudonym(owner: str) -> str:
    """Return a pseudonym for an owner, from which nobody can derive the owner."""
    return hashlib.blake2b(owner.encode(), key=_PEPPER, digest_size=8).hexdigest()


def described(text: str | None, document: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of a document's members and its digest, without its content.

    Args:
        text: The stored text of the document.
        document: The parsed document.
    """
    names = ", ".join(name[:_LONGEST_NAME] for name in list(document)[:_MOST_NAMES])
    digest = hashlib.sha256((text or "").encode()).hexdigest()
    return {"members": redact_personal(names), "sha256": digest[:_DIGITS]}
