"""Which endpoint answers what."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from heddle_gateway.admin import assistants, health, rubrics, usage
from heddle_gateway.http import openapi
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.lamb import assistants as lamb_assistants
from heddle_gateway.lamb import (
    catalog,
    creator_defaults,
    knowledge_base_files,
    knowledge_bases,
)
from heddle_gateway.mcp import endpoint as mcp_endpoint
from heddle_gateway.openai import (
    files,
    generated_images,
    images,
    models,
    page_images,
    vector_store_file_batches,
    vector_store_files,
    vector_store_search,
    vector_stores,
)
from heddle_gateway.openai.chat import completions

if TYPE_CHECKING:
    from heddle_gateway.state import State

Endpoint = Callable[["State", RawRequest], Awaitable[RawResponse | ErrorResponse | None]]
LAMB = "/lamb/v1/completions"
CREATOR = "/creator/assistant"
STORES = "/v1/vector_stores"
BATCHES = f"{STORES}/{{id}}/file_batches"
LAMBS = (CREATOR, "/collections", "/organizations", "/query", "/ingestion")
"""Where LAMB's own clients ask."""


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
    detail: bool = False
    """Whether a failure also stands under `detail`, where LAMB's own clients look."""


Methods = Mapping[str, Route]
_ENTRIES: tuple[tuple[str, Endpoint, Access], ...] = (
    ("POST /v1/chat/completions", completions.chat, Access.KEY),
    ("POST /chat/completions", completions.chat, Access.KEY),
    ("POST /v1/images/generations", images.generations, Access.KEY),
    ("POST /images/generations", images.generations, Access.KEY),
    ("GET /v1/pictures/{name}", generated_images.picture, Access.KEY),
    (
        "GET /v1/vector_stores/{id}/files/{file}/pages/{page}",
        page_images.picture,
        Access.KEY,
    ),
    ("GET /v1/models", models.models, Access.KEY),
    ("GET /models", models.models, Access.KEY),
    ("GET /v1/models/{id:path}", models.model, Access.KEY),
    ("GET /models/{id:path}", models.model, Access.KEY),
    ("GET /assistants", assistants.listing, Access.KEY),
    ("POST /assistants", assistants.create, Access.KEY),
    ("POST /assistants/import", assistants.bring, Access.KEY),
    ("GET /assistants/{id}", assistants.get, Access.KEY),
    ("PUT /assistants/{id}", assistants.update, Access.KEY),
    ("DELETE /assistants/{id}", assistants.delete, Access.KEY),
    ("GET /assistants/{id}/export", assistants.export, Access.KEY),
    ("PUT /assistants/{id}/publish", assistants.publish, Access.KEY),
    ("GET /rubrics", rubrics.listing, Access.KEY),
    ("POST /rubrics", rubrics.create, Access.KEY),
    ("GET /rubrics/{id}", rubrics.get, Access.KEY),
    ("PUT /rubrics/{id}", rubrics.update, Access.KEY),
    ("DELETE /rubrics/{id}", rubrics.delete, Access.KEY),
    ("GET /assistants/{id}/usage", usage.get, Access.KEY),
    (f"POST {LAMB}", completions.lamb_chat, Access.KEY),
    (f"GET {LAMB}/list", catalog.parts, Access.OPTIONAL),
    (f"GET {LAMB}/tools", catalog.tools, Access.OPTIONAL),
    (f"GET {LAMB}/tools/{{name}}", catalog.tool, Access.OPTIONAL),
    (f"POST {LAMB}/tools/{{name}}/validate", catalog.validate, Access.KEY),
    (f"GET {LAMB}/orchestrators", catalog.strategies, Access.OPTIONAL),
    (f"GET {CREATOR}/get_assistants", lamb_assistants.listing, Access.KEY),
    (f"GET {CREATOR}/get_assistant/{{id}}", lamb_assistants.get, Access.KEY),
    (f"POST {CREATOR}/create_assistant", lamb_assistants.create, Access.KEY),
    (f"PUT {CREATOR}/update_assistant/{{id}}", lamb_assistants.update, Access.KEY),
    (f"DELETE {CREATOR}/delete_assistant/{{id}}", lamb_assistants.delete, Access.KEY),
    (f"GET {CREATOR}/export/{{id}}", lamb_assistants.export, Access.KEY),
    (f"PUT {CREATOR}/publish/{{id}}", lamb_assistants.publish, Access.KEY),
    (f"GET {CREATOR}/defaults", creator_defaults.defaults, Access.KEY),
    (f"POST {CREATOR}/{{id}}/chat/completions", completions.creator_chat, Access.KEY),
    ("GET /v1/files", files.listing, Access.KEY),
    ("POST /v1/files", files.create, Access.KEY),
    ("GET /v1/files/{id}", files.get, Access.KEY),
    ("DELETE /v1/files/{id}", files.delete, Access.KEY),
    ("GET /v1/files/{id}/content", files.content, Access.KEY),
    (f"GET {STORES}", vector_stores.listing, Access.KEY),
    (f"POST {STORES}", vector_stores.create, Access.KEY),
    (f"GET {STORES}/{{id}}", vector_stores.get, Access.KEY),
    (f"POST {STORES}/{{id}}", vector_stores.update, Access.KEY),
    (f"DELETE {STORES}/{{id}}", vector_stores.delete, Access.KEY),
    (f"POST {STORES}/{{id}}/search", vector_store_search.search, Access.KEY),
    (f"GET {STORES}/{{id}}/files", vector_store_files.listing, Access.KEY),
    (f"POST {STORES}/{{id}}/files", vector_store_files.create, Access.KEY),
    (f"GET {STORES}/{{id}}/files/{{file}}", vector_store_files.get, Access.KEY),
    (f"POST {STORES}/{{id}}/files/{{file}}", vector_store_files.update, Access.KEY),
    (f"DELETE {STORES}/{{id}}/files/{{file}}", vector_store_files.delete, Access.KEY),
    (f"GET {STORES}/{{id}}/files/{{file}}/content", vector_store_files.content, Access.KEY),
    (f"POST {BATCHES}", vector_store_file_batches.create, Access.KEY),
    (f"GET {BATCHES}/{{batch}}", vector_store_file_batches.get, Access.KEY),
    (f"POST {BATCHES}/{{batch}}/cancel", vector_store_file_batches.cancel, Access.KEY),
    (f"GET {BATCHES}/{{batch}}/files", vector_store_file_batches.listing, Access.KEY),
    ("GET /collections", knowledge_bases.listing, Access.KEY),
    ("POST /collections", knowledge_bases.create, Access.KEY),
    ("GET /collections/{id}", knowledge_bases.get, Access.KEY),
    ("PATCH /collections/{id}", knowledge_bases.update, Access.KEY),
    ("DELETE /collections/{id}", knowledge_bases.delete, Access.KEY),
    ("POST /collections/{id}/query", knowledge_bases.query, Access.KEY),
    ("POST /collections/{id}/ingest-file", knowledge_base_files.ingest, Access.KEY),
    ("GET /collections/{id}/files", knowledge_base_files.listing, Access.KEY),
    ("DELETE /collections/{id}/files/{file}", knowledge_base_files.delete, Access.KEY),
    ("POST /organizations", knowledge_base_files.organization, Access.KEY),
    ("GET /query/plugins", knowledge_base_files.query_plugins, Access.KEY),
    ("GET /ingestion/plugins", knowledge_base_files.ingestion_plugins, Access.KEY),
    ("POST /mcp", mcp_endpoint.serve, Access.KEY),
    ("GET /v1", health.alive, Access.OPEN),
    ("GET /status", health.alive, Access.OPEN),
    ("GET /health", health.health, Access.OPEN),
    ("GET /openapi.json", openapi.openapi, Access.OPEN),
)


def _table(entries: Iterable[tuple[str, Endpoint, Access]]) -> dict[str, dict[str, Route]]:
    table: dict[str, dict[str, Route]] = {}
    for name, endpoint, access in entries:
        method, _, path = name.partition(" ")
        route = Route(name, endpoint, access, detail=path.startswith(LAMBS))
        table.setdefault(path, {})[method] = route
    return table


def _pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of a path with open parts. One may hold slashes if it says so."""
    pieces = re.split(r"\{([^}]+)\}", path)  # what stands between open parts, and their names
    some = [".+" if part.endswith(":path") else "[^/]+" for part in pieces[1::2]]
    ends = [re.escape(piece) for piece in pieces[::2]]
    return re.compile(
        ends[0] + "".join(f"({part}){end}" for part, end in zip(some, ends[1:], strict=True)),
        re.DOTALL,
    )


ROUTES: Mapping[str, Methods] = _table(_ENTRIES)
"""All routes: by path, open parts in braces, and by method."""
_EXACT = {path: methods for path, methods in ROUTES.items() if "{" not in path}
_PATTERNS = tuple((_pattern(path), methods) for path, methods in ROUTES.items() if "{" in path)


def find(path: str) -> tuple[Methods | None, tuple[str, ...]]:
    """Return the routes of a path by method, None if there are none, and what the path leaves open.

    A slash at the end makes no difference.
    """
    path = path.rstrip("/") or "/"
    if (methods := _EXACT.get(path)) is not None:
        return methods, ()
    for pattern, methods in _PATTERNS:
        if (found := pattern.fullmatch(path)) is not None:
            return methods, found.groups()
    return None, ()
