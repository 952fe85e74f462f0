"""Reads collections and files of LAMB's knowledge-base servers over HTTP."""

import asyncio
import json
from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx
from heddle_runtime.errors import HeddleError, UnavailableError
from heddle_runtime.http.remote_json import (
    BusyServerError,
    RemoteError,
    RemoteUnavailableError,
    exchange,
)
from heddle_runtime.redaction import register_values
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from heddle_migration_service.lamb.knowledge_registry import LambServer

HEDDLES_FILE_BYTES = 30 * 1024**2
"""The largest file that the knowledge service takes."""
_MAX_ANSWER_BYTES = 64 * 1024**2
_PAGE = 100
_ATTEMPTS = 4
_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.25, 30.0
_STATIC = "/static/"


class Answer(BaseModel):
    """What a server of LAMB answers."""

    model_config = ConfigDict(coerce_numbers_to_str=True, extra="ignore")


class LambCollection(Answer):
    """A collection of LAMB's."""

    id: str
    name: str = ""
    description: str | None = None
    owner: str | None = None
    visibility: str | None = None


class LambFile(Answer):
    """A file of a collection of LAMB's."""

    id: str
    original_filename: str = ""
    file_url: str | None = None
    file_size: int = 0
    content_type: str | None = None
    plugin_name: str | None = None
    plugin_params: dict[str, Any] | None = None
    status: str = "completed"
    document_count: int = 0
    folder: str = ""
    """Of a document of a library: the path of its folder."""
    place: str = ""
    """Of a document of a library: its path at the server."""


class _CollectionPage(Answer):
    total: int
    items: list[LambCollection]


class _Embeddings(Answer):
    vendor: str = ""


class _Text(Answer):
    content: str


class LambReader:
    """Reads servers. A request that fails for the moment is repeated."""

    server_name = "LAMB's knowledge-base server"
    token_setting = "HEDDLE_MIGRATION_LAMB_KB_TOKEN"  # noqa: S105 - a name

    def __init__(self, http: httpx.AsyncClient, guarded_http: httpx.AsyncClient) -> None:
        """Take the clients for the operator's server, and for those that organisations name."""
        self._http = http
        self._guarded_http = guarded_http

    async def is_heddle(self, server: LambServer) -> bool:
        """Return whether a server is a Heddle; false if it does not say so."""
        if server.problem:
            return False
        try:
            body = await self._body(server, "/config/embeddings", attempts=1)
            return body is not None and self._read(_Embeddings, body).vendor == "heddle"
        except HeddleError:
            return False

    async def collections(self, server: LambServer) -> AsyncGenerator[list[LambCollection]]:
        """Yield the collections of a server in pages.

        Raises:
            HeddleError: It does not answer, or refuses, or answers nonsense.
        """
        if server.problem:
            raise HeddleError(server.problem)
        register_values([server.token], server)
        skip = 0
        while True:
            path = f"/collections?skip={skip}&limit={_PAGE}"
            page = self._read(_CollectionPage, await self._required(server, path))
            yield page.items
            skip += _PAGE
            if skip >= page.total or not page.items:
                return

    async def files(self, server: LambServer, collection: str) -> list[LambFile]:
        """Return the files of a collection.

        Raises:
            HeddleError: As of `collections`.
        """
        path = f"/collections/{quote(collection, safe='')}/files"
        files: list[LambFile] = self._read(list[LambFile], await self._required(server, path))
        return files

    async def content(self, server: LambServer, file: LambFile) -> bytes | None:
        """Return what was uploaded as a file; None if the server does not have it.

        The address of a file may name another host, for browsers: only its path counts.

        Raises:
            HeddleError: As of `collections`.
        """
        _, static, path = (file.file_url or "").partition(_STATIC)
        if not static:
            return None
        return await self._body(server, _STATIC + quote(path, safe="/%"))

    async def text(self, server: LambServer, file: LambFile) -> str | None:
        """Return the text that LAMB has read from a file; None if it has none.

        Raises:
            HeddleError: As of `collections`.
        """
        body = await self._body(server, f"/files/{quote(file.id, safe='')}/content")
        return None if body is None else self._read(_Text, body).content

    async def _required(self, server: LambServer, path: str) -> bytes:
        body = await self._body(server, path)
        if body is None:
            raise HeddleError(f"{self.server_name} has nothing at {path}.")
        return body

    async def _body(self, server: LambServer, path: str, attempts: int = _ATTEMPTS) -> bytes | None:
        """Return the body at a path, None if there is nothing."""
        http = self._guarded_http if server.guarded else self._http
        headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
        for attempt in range(1, attempts + 1):
            request = http.build_request("GET", server.url + path, headers=headers)
            pause = _PAUSE_SECONDS * 2**attempt
            try:
                status, body = await exchange(
                    http, request, self.server_name, max_bytes=_MAX_ANSWER_BYTES
                )
                return self._checked(status, body)
            except RemoteUnavailableError as error:
                if attempt == attempts:
                    raise UnavailableError(str(error)) from error
                pause = error.wait if isinstance(error, BusyServerError) else pause
            except RemoteError as error:
                raise HeddleError(str(error)) from error
            await asyncio.sleep(min(pause, _MAX_PAUSE_SECONDS))
        raise AssertionError("the last attempt returns or raises")

    def _checked(self, status: int, body: bytes) -> bytes | None:
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise HeddleError(
                f"{self.server_name} refuses the key ({status}). Set {self.token_setting}."
            )
        if status >= HTTPStatus.BAD_REQUEST:
            raise HeddleError(f"{self.server_name} answered {status}.")
        return body

    def _read(self, kind: Any, body: bytes) -> Any:  # noqa: ANN401 - an instance of the kind
        try:
            return TypeAdapter(kind).validate_python(json.loads(body))
        except (ValueError, RecursionError, ValidationError):
            raise HeddleError(f"The answer of {self.server_name} cannot be read.") from None
