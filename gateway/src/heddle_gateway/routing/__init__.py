"""Declares REST routes. A route is one function and its models.

For example:

    routes = Routes("rubrics")

    @routes.get("/rubrics/{id}", errors=(400, 404), headers=ETAG)
    async def get(call: Call, id_: RubricId) -> StoredRubric:
        \"\"\"Get a rubric.\"\"\"

The parameters of the function are the parts of the request: `body` is the model of a JSON body,
`form` of a multipart form and `query` of the query; all others are parameters of the path. The
function returns the model of the response. Its docstring, and the models, are the description in
`/openapi.json`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import parse_qsl

import msgspec
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from heddle_gateway.http.body import read_body, read_form
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.http.models import validate
from heddle_gateway.http.operations import Access, Operation
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.services import ServiceClients
from heddle_gateway.state import State

FunctionT = TypeVar("FunctionT", bound=Callable[..., Awaitable[Any]])
_PART_BYTES = 1024 * 1024
ChatHandler = Callable[[State, RawRequest], Awaitable[None]]
ETAG = {"ETag": "Changes whenever the object does."}
LOCATION = {"Location": "The path of the new object."}


@dataclass(slots=True)
class Call:
    """A request that a route answers."""

    state: State
    request: Request
    raw: RawRequest
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    """Headers of the response."""
    json: Place = field(default_factory=lambda: Place(b"{}"))
    """The JSON body, whose members can be read byte for byte."""

    @property
    def services(self) -> ServiceClients:
        """The clients of the services."""
        return self.state.services

    def expected_etag(self) -> str:
        """Return the version that a change is meant for; empty for any version.

        A proxy that compresses a response makes its ETag a weak one of the same version. A header
        without an ETag matches no version.
        """
        if b"if-match" not in self.raw.headers:
            return ""
        value = self.raw.header("if-match").strip()
        return "" if value == "*" else value.removeprefix("W/").strip('"') or '""'

    def must_be_new(self) -> bool:
        """Return whether the object of a `PUT` must be new."""
        none_match = b"if-none-match" in self.raw.headers
        return none_match and self.raw.header("if-none-match").strip() == "*"

    def set_etag(self, etag: str) -> None:
        """Set the version of the response."""
        self.headers["etag"] = f'"{etag}"'

    def knows(self, etag: str) -> bool:
        """Return whether the client already has this version of the response."""
        if b"if-none-match" not in self.raw.headers:
            return False
        header = self.raw.header("if-none-match")
        known = {each.strip().removeprefix("W/").strip('"') for each in header.split(",")}
        return etag in known or header.strip() == "*"

    def save_as(self, filename: str) -> None:
        """Make browsers save the response as a file."""
        self.headers["content-disposition"] = f'attachment; filename="{filename}"'


class Declaration(Protocol):
    """A decorator of a route's function."""

    def __call__(self, function: FunctionT, /) -> FunctionT:
        """Declare the route and return the function."""


class Routes:
    """The routes of one module."""

    def __init__(self, tag: str, access: Access = Access.KEY) -> None:
        self._tag = tag
        self._access = access
        self.operations: list[Operation] = []
        self.get = partial(self._route, "GET")
        self.post = partial(self._route, "POST")
        self.put = partial(self._route, "PUT")
        self.patch = partial(self._route, "PATCH")
        self.delete = partial(self._route, "DELETE")

    def _route(self, method: str, *paths: str, **options: Any) -> Declaration:  # noqa: ANN401 - the fields of Operation
        """Declare the route of a method at each path; the options are fields of `Operation`."""

        def declare(function: FunctionT) -> FunctionT:
            fields = {"tag": self._tag, "access": self._access, **options}
            self.operations += [Operation(method, path, function, **fields) for path in paths]
            return function

        return declare


class PathEndpoint:
    """The operations of one path by method, as an ASGI application."""

    def __init__(self, state: State, operations: Mapping[str, Operation]) -> None:
        self._state = state
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation = self._operations[method]
        # Removed because it refers to the scope.
        raw: RawRequest = scope["state"].pop("raw")
        raw.name, raw.route = operation.name, operation.path
        if operation.access is Access.OPEN:  # health checks among them, which work under load
            self._state.authenticator.enter(raw)
            await self._answer(operation, raw, scope, receive, send)
            return
        with self._state.running:
            if operation.raw:
                await cast("ChatHandler", operation.function)(self._state, raw)
                return
            required = operation.access is Access.KEY
            await self._state.authenticator.admit(raw, required=required)
            await self._answer(operation, raw, scope, receive, send)

    async def _answer(
        self, operation: Operation, raw: RawRequest, scope: Scope, receive: Receive, send: Send
    ) -> None:
        call = Call(self._state, Request(scope, receive, send), raw, operation.status)
        arguments = await _arguments(operation, call)
        response = _response(await operation.function(call, **arguments), call)
        if operation.tag == "organizations" and operation.method != "GET":
            self._state.authenticator.note_change()
        if response is not None:
            await response(scope, receive, send)


async def _arguments(operation: Operation, call: Call) -> dict[str, Any]:
    """Return the arguments of the function that answers a call."""
    names = {name.removesuffix("_"): name for name in operation.path_parameters}
    arguments = {names[name]: value for name, value in call.request.path_params.items()}
    if (model := operation.query) is not None:
        # Of several values the first counts.
        text = call.raw.scope["query_string"].decode("latin-1")
        query = dict(reversed(parse_qsl(text, keep_blank_values=True)))
        arguments["query"] = validate(model, query, "The query parameter", strict=False)
    if not operation.reads_body or (operation.body is None and operation.form is None):
        return arguments
    body = await read_body(call.raw, call.state.settings)
    if (model := operation.form) is not None:
        request = Request(call.raw.scope, _replay(body))
        arguments["form"] = validate(model, await read_form(request), "The field")
    elif (model := operation.body) is not None:
        members, call.json = parse(body)
        arguments["body"] = validate(model, members)
    return arguments


def _replay(body: bytes) -> Receive:
    """Return a body in parts. Other requests have their turn between them."""
    starts = iter(range(0, len(body), _PART_BYTES))

    async def receive() -> Message:
        await asyncio.sleep(0)
        start = next(starts, len(body))
        more = start + _PART_BYTES < len(body)
        return {
            "type": "http.request",
            "body": body[start : start + _PART_BYTES],
            "more_body": more,
        }

    return receive


def _response(content: object, call: Call) -> Response | None:
    """Return the result of a function as a response; None if it has sent its own."""
    if content is None:
        return None
    if isinstance(content, Response):
        content.headers.update(call.headers)
        return content
    headers = {"content-type": "application/json", **call.headers}
    return Response(msgspec.json.encode(content, enc_hook=_members), call.status, headers)


def _members(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(by_alias=True)
