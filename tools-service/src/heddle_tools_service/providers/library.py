"""Reads documents of a library server."""

from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import quote

import httpx
from heddle_runtime.http import remote_json

from heddle_tools_service.capabilities.files import FileText
from heddle_tools_service.providers.remote import tool_errors
from heddle_tools_service.sdk import ToolError

PREFIX = "library:"
"""Begins the path of a document: `library:<library>/<item>`."""
_SERVER = "The library server"
_INVALID = "Invalid file path"
_NOT_SET_UP = "The library server is not set up"


@dataclass(frozen=True, slots=True)
class LibraryServer:
    """A server with libraries of documents."""

    http: httpx.AsyncClient
    """Must not follow redirects: the token belongs to one origin."""
    url: str
    """Without a slash at the end; empty if there is none."""
    token: str = field(repr=False)

    async def read(self, path: str, max_chars: int) -> FileText:
        """Return the beginning of a document as Markdown.

        Args:
            path: The path with its prefix.
            max_chars: Limits the text.

        Raises:
            ToolError: The path is none of a document, there is no such document, it is empty, or
                the server refuses.
            ToolUnavailableError: The server does not answer.
        """
        library, separator, item = path.removeprefix(PREFIX).partition("/")
        if not separator or not (_is_identifier(library) and _is_identifier(item)):
            raise ToolError(_INVALID)
        if not self.url:
            raise ToolError(_NOT_SET_UP)
        segments = (quote(each, safe="", errors="replace") for each in (library, item))
        address = "{}/libraries/{}/items/{}/content".format(self.url, *segments)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        parameters = {"format": "markdown"}
        request = self.http.build_request("GET", address, params=parameters, headers=headers)
        with tool_errors():
            status, body = await remote_json.exchange(self.http, request, _SERVER)
        if status == HTTPStatus.NOT_FOUND:
            raise ToolError("The library has no such document")
        if status >= HTTPStatus.BAD_REQUEST:
            raise ToolError(f"{_SERVER} refuses the request ({status})")
        text = body.decode(errors="replace")
        if not text.strip():
            raise ToolError("The document of the library is empty")
        return FileText(path, text[:max_chars], truncated=len(text) > max_chars)


def _is_identifier(text: str) -> bool:
    return text not in {"", ".", ".."} and "/" not in text
