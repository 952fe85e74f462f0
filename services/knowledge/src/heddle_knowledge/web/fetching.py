"""Fetches documents from servers that users name.

The client connects to public addresses only (`heddle_runtime.http.egress`), also after a
redirection. Size and time are limited as a whole, because a server may send one byte at a time.
"""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx
from heddle_runtime.http.egress import ForbiddenAddressError, document_address_problem
from heddle_runtime.http.remote_json import RemoteError, refuse_compressed, request_uncompressed

from heddle_knowledge.errors import FetchError
from heddle_knowledge.reading.admission import UNKNOWN, media_type_of

SETTING = "HEDDLE_KNOWLEDGE_WEB_NETWORKS"
MAX_BYTES = 30 * 1024**2
"""As of an uploaded file."""
MAX_REDIRECTIONS = 5
_SECONDS = 30.0
_ACCEPT = "text/html, text/markdown, text/plain, application/pdf, */*;q=0.5"
_REDIRECTIONS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """A document as a server sends it."""

    data: bytes
    media_type: str
    """With its parameters."""


class WebDocuments:
    """Fetches documents. Messages of errors do not repeat addresses, which may hold a secret."""

    def __init__(self, http: httpx.AsyncClient, seconds: float = _SECONDS) -> None:
        """Take a client that connects to permitted addresses only and follows no redirections."""
        self._http = http
        self._seconds = seconds

    async def fetch(self, url: str) -> FetchedDocument:
        """Return the document at an address.

        Raises:
            FetchError: The server cannot or may not be reached, refuses, redirects too often, or
                sends too much or too slowly.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await self._followed(url)
        except TimeoutError as error:
            raise FetchError(
                f"The server did not send the document within {self._seconds:g} s."
            ) from error
        except ForbiddenAddressError as error:
            raise FetchError(
                "The address leads into a private network, which the operator can allow with "
                f"{SETTING}."
            ) from error
        except RemoteError as error:
            raise FetchError(str(error)) from error
        except httpx.TimeoutException as error:
            raise FetchError("The server does not answer in time.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FetchError("The server does not answer. Check the address.") from error

    async def _followed(self, url: str) -> FetchedDocument:
        for _ in range(MAX_REDIRECTIONS + 1):
            if problem := document_address_problem(url):
                raise FetchError(f"The address, or one that it redirects to, {problem}.")
            request = self._http.build_request("GET", url, headers={"accept": _ACCEPT})
            request_uncompressed(request)
            response = await self._http.send(request, stream=True)
            try:
                target = response.headers.get("location")
                if response.status_code not in _REDIRECTIONS or not target:
                    return await _document(response, url)
            finally:
                await response.aclose()
            url = str(httpx.URL(url).join(target))
        raise FetchError(f"The address redirects more than {MAX_REDIRECTIONS} times.")


async def _document(response: httpx.Response, url: str) -> FetchedDocument:
    if response.status_code != HTTPStatus.OK:
        raise FetchError(f"The server answers {response.status_code} in place of the document.")
    refuse_compressed(response, "The server")
    data = bytearray()
    async for piece in response.aiter_raw():
        data += piece
        if len(data) > MAX_BYTES:
            raise FetchError(f"The document has more than {MAX_BYTES // 1024**2} MiB.")
    declared = response.headers.get("content-type", "")
    known = declared.partition(";")[0].strip().lower() not in {"", UNKNOWN, "binary/octet-stream"}
    return FetchedDocument(bytes(data), declared if known else media_type_of(urlsplit(url).path))
