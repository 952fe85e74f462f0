"""One log line for each assistant that was migrated.

Its members are those that LAMB's operators know. What would tell about people or hold a secret is
not in them: of a document there are only the names of its members and a digest, by which it is
found in the database, and in place of the owner a pseudonym, the same in one run of the service.
"""

import hashlib
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from heddle_conversion import Conversion, parse
from heddle_runtime.redaction import redact_personal

from heddle_assistants.repository.row import MigratedRow

log = logging.getLogger("lamb.migration")
_PEPPER = secrets.token_bytes(16)
_MOST_NAMES = 40
_LONGEST_NAME = 60
_DIGITS = 16


def log_migration(row: MigratedRow, conversion: Conversion, migrated: str | None) -> None:
    """Tell that `row` was brought to the newest format. Call it when that is on disk.

    Args:
        row: What it was.
        conversion: What became of it.
        migrated: The same as it is kept.
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
    """Return what stands for an owner; nobody can tell from it who that is."""
    return hashlib.blake2b(owner.encode(), key=_PEPPER, digest_size=8).hexdigest()


def described(text: str | None, document: Mapping[str, Any]) -> dict[str, str]:
    """Return what tells a document apart without saying what is in it.

    Args:
        text: The document, as it is kept.
        document: The same, read.
    """
    names = ", ".join(name[:_LONGEST_NAME] for name in list(document)[:_MOST_NAMES])
    digest = hashlib.sha256((text or "").encode()).hexdigest()
    return {"members": redact_personal(names), "sha256": digest[:_DIGITS]}
