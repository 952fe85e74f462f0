"""Limits of events that the database counts for all replicas, such as failed sign-ins."""

import time
from dataclasses import dataclass

from heddle_runtime.errors import ResourceExhaustedError
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import insertion, upsert
from sqlalchemy import case, delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.key_text import Peppers
from heddle_assistants.database.schema import sign_in_attempts

WINDOW_SECONDS = 15 * 60
MAX_ADDRESS_FAILURES = 10
"""The maximum number of failures of one e-mail address in the window, by all clients together."""
MAX_CLIENT_FAILURES = 50
"""The maximum number of failures of one client in the window: a class may share one IP address."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to sign in, by the digests of the e-mail address and of the client."""

    address: str
    client: str
    """Empty if the client is unknown."""


class SignInLimits:
    """Counts an attempt as a failure before its check, so that concurrent attempts cannot pass."""

    def __init__(self, database: Database, peppers: Peppers) -> None:
        self._database = database
        self._peppers = peppers

    async def begin(self, email: str, client: str) -> Attempt:
        """Count an attempt as a failure, until `succeeded` says otherwise.

        Raises:
            ResourceExhaustedError: The address or the client has failed too often. It has the time
                after which another attempt is possible.
        """
        attempt = Attempt(self._digest("address", email), client and self._digest("client", client))
        now = int(time.time())
        async with self._database.writing() as connection:
            counts = [(await _count(connection, attempt.address, now), MAX_ADDRESS_FAILURES)]
            if attempt.client:
                counts.append((await _count(connection, attempt.client, now), MAX_CLIENT_FAILURES))
        for (failures, ends_at), most in counts:
            check_failures(failures, most, ends_at - now)
        return attempt

    async def succeeded(self, attempt: Attempt) -> None:
        """Reset the failures of the address, and remove this attempt from those of the client."""
        failures = sign_in_attempts.c.failures
        async with self._database.writing() as connection:
            await connection.execute(
                delete(sign_in_attempts).where(sign_in_attempts.c.digest == attempt.address)
            )
            await connection.execute(
                update(sign_in_attempts)
                .where(sign_in_attempts.c.digest == attempt.client, failures > 0)
                .values(failures=failures - 1)
            )

    async def forget(self) -> None:
        """Delete the counts that no longer matter."""
        async with self._database.writing() as connection:
            ended = sign_in_attempts.c.ends_at < int(time.time())
            await connection.execute(delete(sign_in_attempts).where(ended))

    def _digest(self, kind: str, text: str) -> str:
        """Return the digest that is stored of an address, so that the table lists no addresses."""
        peppers = self._peppers
        return peppers.digest(f"heddle sign-in {kind} {text}", peppers.current).hex()


def check_failures(failures: int, most: int, seconds: int) -> None:
    """Refuse an attempt after `most` failures, for the `seconds` until they are forgotten.

    Raises:
        ResourceExhaustedError: `failures`, with this attempt, are more.
    """
    if failures > most:
        minutes = max(1, round(seconds / 60))
        raise ResourceExhaustedError(
            f"Signing in failed {most} times. Try again in {minutes} min, or ask your "
            "administrator for a new password.",
            retry_after=float(max(1, seconds)),
        )


async def uses(database: Database, what: str) -> int:
    """Count a use of a thing that can be used once; return how often it was used in the window."""
    async with database.writing() as connection:
        return (await _count(connection, what, int(time.time())))[0]


async def _count(connection: AsyncConnection, digest: str, now: int) -> tuple[int, int]:
    table = sign_in_attempts
    ended = table.c.ends_at <= now
    end = now + WINDOW_SECONDS
    query = upsert(
        insertion(connection, table).values(digest=digest, failures=1, ends_at=end),
        failures=case((ended, 1), else_=table.c.failures + 1),
        ends_at=case((ended, end), else_=table.c.ends_at),
    )
    counts = query.returning(table.c.failures, table.c.ends_at)
    row = (await connection.execute(counts)).one()
    return row.failures, row.ends_at
