"""Reads addresses of one server over HTTP, with limits."""

from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from heddle_cli.ingestion import MAX_BYTES

AGENT = "heddle-ingest"
"""The name under which `robots.txt` can address the command."""
_SECONDS = 30.0
_GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document of a source, or why there is none.

    Attributes:
        name: Its name in a collection.
        data: Its content.
        media_type: As its server states it, with parameters.
        uri: Where people can read it; empty if they cannot.
        problem: Why it was not read; empty if it was.
        counts: Whether it may still be there, so that nothing counts as deleted in this run.
    """

    name: str
    data: bytes = b""
    media_type: str = ""
    uri: str = ""
    problem: str = ""
    counts: bool = True


class FetchError(Exception):
    """An address cannot be read; the message is the reason."""

    def __init__(self, problem: str, *, is_gone: bool = False) -> None:
        super().__init__(problem)
        self.is_gone = is_gone
        """Whether the server says that there is nothing (any more)."""


def origin(url: str) -> tuple[str, str]:
    """Return the scheme and the host with its port of an address."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


class _SameServer(HTTPRedirectHandler):
    """Follows redirections within the server only: others were not named by the operator."""

    max_redirections = 5

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if origin(newurl) != origin(req.full_url):
            raise FetchError("it redirects to another server", is_gone=True)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_opener = build_opener(_SameServer)


def fetch(url: str, form: bytes | None = None) -> tuple[bytes, Message, str]:
    """Return what is at an address, its header, and the address after redirections.

    Args:
        url: Of a server over HTTP.
        form: The fields of a form, which is posted; a secret in it is in no log of addresses.

    Raises:
        FetchError: It cannot be read.
    """
    request = Request(url, form, {"User-Agent": AGENT})  # noqa: S310 - `http` or `https`, as checked
    try:
        with _opener.open(request, timeout=_SECONDS) as response:
            data = response.read(MAX_BYTES + 1)
            header, final = response.headers, response.url
    except HTTPError as error:
        with error:
            raise FetchError(f"status {error.code}", is_gone=error.code in _GONE) from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise FetchError(f"the server does not answer: {reason}") from None
    if len(data) > MAX_BYTES:
        raise FetchError(f"it has more than {MAX_BYTES >> 20} MiB", is_gone=True)
    return data, header, final
