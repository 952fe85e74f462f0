"""Records when API keys were last used, once a minute for all keys together."""

import time

from heddle_runtime.errors import HeddleError
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import bindparam, or_, update

from heddle_assistants.database.schema import api_keys

FLUSH_SECONDS = 60.0
_MAX_KEYS = 10_000  # bounds the memory while the database cannot be written
_STORE = (
    update(api_keys)
    .where(
        api_keys.c.id == bindparam("key"),
        or_(api_keys.c.used_at.is_(None), api_keys.c.used_at < bindparam("used")),
    )
    .values(used_at=bindparam("used"))
)


class KeyUses:
    """Collects uses of keys in memory: a request with a key must not wait for a write.

    A process that is killed loses those of the last minute.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._uses: dict[str, int] = {}

    def note(self, identifier: str) -> None:
        """Note that a key is used now."""
        if identifier in self._uses or len(self._uses) < _MAX_KEYS:
            self._uses[identifier] = int(time.time())

    def last(self, identifier: str) -> int:
        """Return the time of the last use of a key that is not stored yet; 0 without one."""
        return self._uses.get(identifier, 0)

    async def store(self) -> None:
        """Store the collected uses. After a failure they stay for the next time."""
        uses, self._uses = self._uses, {}
        if not uses:
            return
        rows = [{"key": identifier, "used": used} for identifier, used in sorted(uses.items())]
        try:
            async with self._database.writing() as connection:
                await connection.execute(_STORE, rows)
        except HeddleError:
            self._uses = uses | self._uses
            raise
