"""Which requests are LAMB's, and whether their targets mean one thing only."""

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes, urlsplit

from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.http.raw import RawRequest
from starlette.routing import compile_path
from starlette.types import Scope

_CREATOR = "/creator"
"""The routes that change LAMB's assistants, chats and users, some of which Heddle serves alone."""
_CATALOG = "/lamb/v1/completions/list"
"""What LAMB's form offers: LAMB refuses an assistant with a part that only Heddle has."""
_LTI = "/lamb/v1/lti"
"""Launches of learning platforms: while LAMB runs, it knows their activities."""
_ALWAYS = {"/", _CREATOR, _CATALOG}
_KNOWLEDGE = "ingestion"
"""The first segment of paths that only a knowledge-base server has. It greets at `/` with a key."""
_PAGES = "/assistants"
"""A page of LAMB's frontend at the address of a route of Heddle."""
_DOTS = {b".", b".."}
_HOST = re.compile(rb"[A-Za-z0-9.\-_]{1,255}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_UNSAFE = re.compile(rb"[\x00-\x20\x7f-\xff]")
_UNSAFE_IN_PATH = re.compile(rb"[\x00-\x20\x7f-\xff\\]|%00|(?i:%0a|%0d)")
_SCHEMES = {"http", "https"}


class LambPaths:
    """Tells LAMB's requests from Heddle's."""

    def __init__(self, paths: Iterable[str], trials: str = "") -> None:
        """Prepare.

        Args:
            paths: Of the routes that Heddle serves.
            trials: The path of trials on LAMB's pages if Heddle answers them.
        """
        self._trials = compile_path(trials)[0] if trials else None
        self._patterns: dict[str, list[re.Pattern[str]]] = {}
        for path in paths:
            first = _first_segment(path)
            self._patterns.setdefault(first, []).append(compile_path(path)[0])

    def include(self, scope: Scope) -> bool:
        """Return whether LAMB answers the request of an ASGI scope."""
        path = scope["path"].rstrip("/") or "/"
        if not path.startswith("/"):  # no path: the target is that of a server
            return True
        first = _first_segment(path)
        if first == _KNOWLEDGE or (path == "/" and _has_key(scope)):
            return False
        if self._trials and scope["method"] == "POST" and self._trials.match(path):
            return False
        if path in _ALWAYS or path.startswith((f"{_CREATOR}/", _LTI)) or _is_page(path, scope):
            return True
        patterns = self._patterns.get(first, ())
        return not any(pattern.match(path) for pattern in patterns)


def check_target(request: RawRequest) -> None:
    """Check that LAMB and all between it and the client read the target of a request alike.

    Raises:
        RejectedRequestError: Some could understand it differently.
    """
    scope = request.scope
    path: bytes = scope["raw_path"]
    if _UNSAFE_IN_PATH.search(path) or _UNSAFE.search(scope["query_string"]):
        raise rejected("The address of the request contains a character that it must not contain.")
    segments = unquote_to_bytes(path).replace(b"\\", b"/").split(b"/")
    if not _DOTS.isdisjoint(segments):
        raise rejected("The address of the request contains the segment '.' or '..'.")
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) > 1 or (not hosts and scope["http_version"] == "1.1"):
        raise rejected("The request needs one header Host.")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise rejected("The header Host is not a host and a port.")
    target: bytes | None = scope["state"].get("target")
    if target is not None:
        _check_absolute(target.decode("latin-1"), hosts[0].decode("ascii") if hosts else "")


def rejected(
    message: str, status: int = 400, code: str = "invalid_request"
) -> RejectedRequestError:
    """Return the error for a request that is not sent to LAMB. The connection is closed."""
    return RejectedRequestError(ErrorResponse(status, message, code=code, close=True))


def _check_absolute(target: str, host: str) -> None:
    """Check a target that names a host.

    Raises:
        RejectedRequestError: It is another one than that of the header `Host`.
    """
    try:
        parts = urlsplit(target)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in _SCHEMES or parts.netloc.lower() != host.lower():
        raise rejected("The address of the request names another host than the header Host.")


def _first_segment(path: str) -> str:
    return path.split("/", 2)[1]


def _has_key(scope: Scope) -> bool:
    """Return whether a program sends a key, as LAMB does to its knowledge-base server."""
    has_key = any(name == b"authorization" for name, _ in scope["headers"])
    return has_key and not _is_for_people(scope)


def _is_for_people(scope: Scope) -> bool:
    accepted = (value for name, value in scope["headers"] if name == b"accept")
    return any(b"text/html" in value for value in accepted)


def _is_page(path: str, scope: Scope) -> bool:
    """Return whether a browser opens a page of LAMB's frontend."""
    if path != _PAGES and not path.startswith(f"{_PAGES}/"):
        return False
    return scope["method"] == "GET" and _is_for_people(scope)
