"""The description of a route: its path, its function, and the models of requests and responses."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from types import NoneType
from typing import Any, get_type_hints

from pydantic import BaseModel
from starlette.responses import Response

_PARTS = ("query", "body", "form", "return")


class Access(Enum):
    """The callers whose requests a route answers."""

    OPEN = auto()
    """All requests, without authentication."""
    OPTIONAL = auto()
    """All requests, on behalf of the key's owner if there is a key."""
    KEY = auto()
    """Requests with a valid key."""


@dataclass(frozen=True)
class Operation:
    """A method of a path."""

    method: str
    path: str
    function: Callable[..., Awaitable[Any]]
    tag: str
    access: Access = Access.KEY
    status: int = 200
    errors: Sequence[int] = ()
    """Statuses of errors beside those that all routes have."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that every response has, and their descriptions."""
    request_headers: type[BaseModel] | None = None
    """Headers of requests, for the description only."""
    if_match: bool = False
    """Whether the header `If-Match` protects concurrent changes."""
    returns: Any = None
    """The type of the response, if the function's annotation is not it; or another operation."""
    content: Sequence[str] = ()
    """Media types of the response other than JSON."""
    responses: Mapping[int, Any] = field(default_factory=dict)
    """Other statuses and the types of their responses, None without a body."""
    raw: bool = False
    """Whether the function is a chat handler; models are in the description only."""
    query_model: type[BaseModel] | None = None
    body_model: type[BaseModel] | None = None
    """Models of a raw route."""
    reads_body: bool = True
    """Whether the body is read before the function is called."""
    path_models: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name in logs."""
        return f"{self.method} {self.path}"

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return {} if self.raw else get_type_hints(self.function, include_extras=True)

    @property
    def query(self) -> type[BaseModel] | None:
        """The model of the query, None if the route has no query parameters."""
        return self.query_model or self._hints.get("query")

    @property
    def body(self) -> Any:  # noqa: ANN401 - any type
        """The type of the JSON body, None if there is none."""
        return self.body_model or self._hints.get("body")

    @property
    def form(self) -> type[BaseModel] | None:
        """The model of the multipart form, None if there is none."""
        return self._hints.get("form")

    @property
    def path_parameters(self) -> Mapping[str, Any]:
        """The types of the path's parameters by name."""
        _call, *names = self._hints or (None,)
        hints = {name: self._hints[name] for name in names if name not in _PARTS}
        return {**self.path_models, **hints}

    @property
    def response(self) -> Any:  # noqa: ANN401 - any type
        """The type of the response, None if it is not JSON."""
        if isinstance(self.returns, Operation):
            return self.returns.response
        kind = self.returns or self._hints.get("return")
        return None if kind in (None, NoneType, Response) else kind

    @property
    def docstring(self) -> str:
        """The summary and the description."""
        return inspect.getdoc(self.function) or ""
