"""What both HTTP clients take and give."""

from collections.abc import Mapping
from typing import Protocol, Self

import msgspec

LONGEST_REPLY = 16 * 1024 * 1024
"""Bytes of a whole reply."""
LONGEST_REFUSAL = 64 * 1024
"""Bytes that are read of the body of an answer with an error status."""
LINGER = 0.2
"""Seconds that the end of an HTTP body may come after the end of the answer in it."""
SUCCESSES = range(200, 300)
DEFAULTS = {
    "user-agent": "heddle-connector",
    "accept": "*/*",
    "accept-encoding": "identity",  # a compressor holds tokens back
    "content-type": "application/json",
}


class Request(msgspec.Struct, frozen=True):
    """A request to a provider: a POST of JSON, or a GET if it has no body."""

    url: str
    headers: Mapping[str, str]
    seconds: float
    """The time for everything, from the connection to the last byte."""
    body: bytes | None = None


class Pieces(Protocol):
    """The body of an answer, as it arrives. Each piece is everything that had arrived."""

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> bytes: ...

    async def rest(self) -> None:
        """Read what follows the end mark, so that the connection can serve the next request.

        That is the end of the HTTP body and a matter of microseconds; a provider that does not
        send it loses the connection, not our time.
        """


class Answer(Pieces, Protocol):
    """An answer of which the head is here."""

    def all(self) -> bytes | None:
        """Return the whole body, if all of it is here already."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; to be asked with names in lower case."""

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
