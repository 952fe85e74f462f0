"""A system that the gateway is in front of, and that has users of its own."""

from typing import Protocol


class OtherSystem(Protocol):
    """The system."""

    async def accepts(self, email: str, password: str, client: str) -> bool:
        """Return whether a password is that of the user of an address.

        Raises:
            UnavailableError: The other system does not say so.
        """

    async def problem(self) -> str:
        """Return why the system cannot be reached, with the remedy; empty if it can."""
