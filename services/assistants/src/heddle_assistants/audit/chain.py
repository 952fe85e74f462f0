"""The digests that link the audit events to a chain, and their keys.

A key is random and stored encrypted, so that who can write to the database alone cannot compute a
digest, and the secret that encrypts it can be replaced without touching any event.
"""

import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from sqlalchemy import RowMapping, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.encryption import Keys, UnreadableSecretError
from heddle_assistants.database.schema import audit_chain, audit_events, audit_keys

log = structlog.get_logger(__name__)
CHAIN = 1
"""The id of the record of both ends."""
_DIGESTS = {"digest", "erased_digest"}
_CHAINED = [column.name for column in audit_events.c if column.name not in _DIGESTS]
_ENDS = [column.name for column in audit_chain.c if column.name != "digest"]
_MISSING = (
    "The key of the audit log is encrypted with a key that is not in "
    "HEDDLE_ASSISTANTS_ENCRYPTION_KEY. Add the former key after a comma: NEW,FORMER. A key that "
    "the service generated is in the file beside the SQLite database that ends in "
    ".encryption-key. If the key is lost, set HEDDLE_ASSISTANTS_SECRETS_LOST=true once: the log "
    "goes on with a new key."
)
Values = Mapping[str, Any] | RowMapping


@dataclass(frozen=True, slots=True)
class ChainKeys:
    """The keys of digests, by id."""

    by_id: Mapping[str, bytes] = field(repr=False)
    current: str
    """The id of the key for new digests."""

    def of_event(self, values: Values) -> str:
        """Return the digest of an event, of all its columns."""
        return self._digest(values["key_id"], "event", [values[name] for name in _CHAINED])

    def of_erased_event(self, values: Values) -> str:
        """Return the digest of the rest of an event after an erasure, with its former digest."""
        content = [values[name] for name in (*_CHAINED, "digest")]
        return self._digest(values["key_id"], "erased", content)

    def of_ends(self, values: Values) -> str:
        """Return the digest of the record of both ends of the chain."""
        return self._digest(values["key_id"], "chain", [values[name] for name in _ENDS])

    def of_object(self, text: str) -> str:
        """Return the digest of an object's text, which reveals nothing of the text."""
        return self._digest(self.current, "object", [text])[:32]

    def knows(self, key_id: str) -> bool:
        """Return whether digests with a key can be computed."""
        return key_id in self.by_id

    def _digest(self, key_id: str, purpose: str, values: list[Any]) -> str:
        content = json.dumps([purpose, *values]).encode()
        return hmac.digest(self.by_id[key_id], content, "sha256").hex()


async def read_keys(connection: AsyncConnection, encryption: Keys) -> dict[str, bytes]:
    """Return the keys that can be decrypted, the oldest first."""
    query = select(audit_keys.c.id, audit_keys.c.sealed)
    keys = {}
    for identifier, sealed in await connection.execute(query.order_by(audit_keys.c.created_at)):
        try:
            keys[identifier] = bytes.fromhex(str(encryption.open(sealed, _place(identifier))))
        except UnreadableSecretError:
            log.error(  # noqa: TRY400 - the key is at fault, a traceback says nothing
                "a key of the audit log is encrypted with another key",
                key=identifier,
                remedy="add the former HEDDLE_ASSISTANTS_ENCRYPTION_KEY after a comma",
            )
    return keys


async def open_keys(connection: AsyncConnection, encryption: Keys, *, refuse: bool) -> ChainKeys:
    """Return the keys. Create one if there is none, and encrypt all with the newest secret.

    The chain must be locked.

    Raises:
        ValueError: There are keys, none can be decrypted, and `refuse` is set.
    """
    keys = await read_keys(connection, encryption)
    rows = (await connection.execute(select(audit_keys))).all()
    if rows and not keys and refuse:
        raise ValueError(_MISSING)
    for row in rows:
        if row.id in keys and not encryption.is_current(row.sealed, _place(row.id)):
            sealed = encryption.seal(keys[row.id].hex(), _place(row.id))
            query = update(audit_keys).where(audit_keys.c.id == row.id)
            await connection.execute(query.values(sealed=sealed))
    if not keys:
        identifier, key = secrets.token_hex(4), secrets.token_bytes(32)
        sealed = encryption.seal(key.hex(), _place(identifier))
        values = {"id": identifier, "sealed": sealed, "created_at": int(time.time())}
        await connection.execute(insert(audit_keys).values(**values))
        keys[identifier] = key
    return ChainKeys(keys, list(keys)[-1])


async def locked_ends(connection: AsyncConnection) -> dict[str, Any]:
    """Return the record of both ends, locked until the transaction ends."""
    # SQLite has no words for it and needs none: a writer is alone.
    query = select(audit_chain).where(audit_chain.c.id == CHAIN).with_for_update()
    return dict((await connection.execute(query)).mappings().one())


def _place(identifier: str) -> tuple[str, str, str]:
    return "", "audit_keys", identifier
