"""Which endpoint answers what."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from heddle_gateway import catalog, completions, health, models
from heddle_gateway.exchange import Exchange, Reply

if TYPE_CHECKING:
    from heddle_gateway.state import State

Endpoint = Callable[["State", Exchange], Awaitable[Reply | None]]
LAMB = "/lamb/v1/completions"


class Access(Enum):
    """Whose requests a route answers."""

    OPEN = auto()
    """Anybody's, and nobody asks who it is."""
    OPTIONAL = auto()
    """Anybody's, in the name of the key's owner if there is a key."""
    KEY = auto()
    """Those of a key's owner."""


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint, its place in the log, and who may use it."""

    name: str
    endpoint: Endpoint
    access: Access


Methods = Mapping[str, Route]


def _one(method: str, name: str, endpoint: Endpoint, access: Access = Access.KEY) -> Methods:
    return {method: Route(f"{method} {name}", endpoint, access)}


_PATHS: dict[str, Methods] = {
    "/v1/chat/completions": _one("POST", "/v1/chat/completions", completions.chat),
    "/chat/completions": _one("POST", "/v1/chat/completions", completions.chat),
    LAMB: _one("POST", LAMB, completions.lamb_chat),
    "/v1/models": _one("GET", "/v1/models", models.models),
    "/models": _one("GET", "/v1/models", models.models),
    f"{LAMB}/list": _one("GET", f"{LAMB}/list", catalog.parts, Access.OPTIONAL),
    f"{LAMB}/tools": _one("GET", f"{LAMB}/tools", catalog.tools, Access.OPTIONAL),
    f"{LAMB}/orchestrators": _one(
        "GET", f"{LAMB}/orchestrators", catalog.strategies, Access.OPTIONAL
    ),
    "/v1": _one("GET", "/v1", health.alive, Access.OPEN),
    "/status": _one("GET", "/status", health.alive, Access.OPEN),
    "/health": _one("GET", "/health", health.health, Access.OPEN),
}
_PATTERNS: tuple[tuple[re.Pattern[str], Methods], ...] = (
    (re.compile(r"(?:/v1)?/models/(.+)"), _one("GET", "/v1/models/{id}", models.model)),
    (
        re.compile(rf"{LAMB}/tools/([^/]+)"),
        _one("GET", f"{LAMB}/tools/{{name}}", catalog.tool, Access.OPTIONAL),
    ),
    (
        re.compile(rf"{LAMB}/tools/([^/]+)/validate"),
        _one("POST", f"{LAMB}/tools/{{name}}/validate", catalog.validate),
    ),
)


def find(path: str) -> tuple[Methods | None, str]:
    """Return the routes of a path by method, None if there are none, and what the path leaves open.

    A slash at the end makes no difference.
    """
    path = path.rstrip("/") or "/"
    if (methods := _PATHS.get(path)) is not None:
        return methods, ""
    for pattern, methods in _PATTERNS:
        if (found := pattern.fullmatch(path)) is not None:
            return methods, found[1]
    return None, ""
