"""Hashes of passwords: argon2id in threads, few at a time."""

import asyncio
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from heddle_runtime.errors import ResourceExhaustedError

ResultT = TypeVar("ResultT")
# OWASP's second choice: 19 MiB for about 50 ms of one processor. A changed parameter applies to a
# password when it is next used.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
# No password has it. To compute one would take a tenth of a second at each start.
_DECOY = (
    f"$argon2id$v=19$m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    f"${'A' * 22}${'A' * 43}"
)
_THREADS = 2  # a hash takes 19 MiB and a processor
MAX_WAITING_HASHES = 64
"""The maximum number of sign-ins that wait for a thread. One more is refused, not delayed."""


class PasswordHashes:
    """Computes and checks hashes. Its threads end with the process."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="passwords")
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """Return the hash of a password.

        Raises:
            ResourceExhaustedError: Too many others wait.
        """
        return await self._run(_hashed, password)

    async def matches(self, password: str, hashed: str | None) -> bool:
        """Return whether a password has a hash. Without a hash it takes the same time.

        Raises:
            ResourceExhaustedError: Too many others wait.
        """
        right = await self._run(_verified, password, hashed or _DECOY)
        return right and hashed is not None

    async def _run(self, function: Callable[..., ResultT], *texts: str) -> ResultT:
        check_waiting(self._waiting + 1)
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, function, *texts)
        finally:
            self._waiting -= 1


def check_waiting(count: int) -> None:
    """Refuse to compute more hashes at a time than threads do in a few seconds.

    Raises:
        ResourceExhaustedError: `count` are too many.
    """
    if count > MAX_WAITING_HASHES:
        raise ResourceExhaustedError(
            f"{MAX_WAITING_HASHES} users wait to sign in. Try again.", retry_after=2.0
        )


def is_outdated(hashed: str) -> bool:
    """Return whether a hash was computed with former parameters."""
    return _HASHER.check_needs_rehash(hashed)


def _hashed(password: str) -> str:
    return _HASHER.hash(_bytes(password))


def _verified(password: str, hashed: str) -> bool:
    try:
        return _HASHER.verify(hashed, _bytes(password))
    except (Argon2Error, InvalidHashError):
        return False


def _bytes(password: str) -> bytes:
    """Return the bytes to hash: normalised, as keyboards compose characters in different ways."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "replace")
