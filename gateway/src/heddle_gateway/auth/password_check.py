"""Passwords that another system knows."""

from typing import Protocol


class PasswordCheck(Protocol):
    """Checks passwords."""

    async def accepts(self, email: str, password: str, client: str) -> bool:
        """Return whether a password is that of the user of an address.

        Raises:
            UnavailableError: The other system does not say so.
        """
