"""The routes of methods: compiled once, from `google.api.http` and the options of the contracts."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

from google.api import annotations_pb2, http_pb2
from google.protobuf.descriptor import Descriptor, FileDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from heddle.rest.v1 import rest_pb2
from heddle_runtime.contract.rest_members import Member, comment, member, members
from heddle_runtime.errors import NotFoundError
from pydantic import BaseModel

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.models import Deleted, IfNoneMatch
from heddle_gateway.http.operations import Operation
from heddle_gateway.routing import ETAG, LOCATION, Call
from heddle_gateway.services import call
from heddle_gateway.state import State
from heddle_gateway.transcoding import schemas
from heddle_gateway.transcoding.messages import reader, writer

_VARIABLE = re.compile(r"\{([a-z_.]+)\}")
_HEADERS = {"etag", "only_new"}
Revise = Callable[[State, Any, Any], Awaitable[Message]]
"""Returns what a route answers for the request and the response of its method."""


def operations(
    client: str, contract: FileDescriptor, revisions: Mapping[str, Revise] = MappingProxyType({})
) -> "Iterator[TranscodedOperation]":
    """Yield the routes of the services of a contract.

    Args:
        client: The name of their client in `ServiceClients`.
        contract: The file that declares them.
        revisions: By the name of a method, what changes its responses.
    """
    for service in contract.services_by_name.values():
        for method in service.methods:
            rule = method.GetOptions().Extensions[annotations_pb2.http]
            if rule.WhichOneof("pattern"):
                texts = method.GetOptions().Extensions[rest_pb2.route].additional_descriptions
                yield _operation(Binding(client, method, rule), revisions.get(method.name))
                for each, text in zip(rule.additional_bindings, texts, strict=True):
                    yield _operation(Binding(client, method, each, text))


def operation(client: str, contract: FileDescriptor, method: str) -> "TranscodedOperation":
    """Return the first route of a method, for a route that answers alike."""
    return next(each for each in operations(client, contract) if each.binding.method.name == method)


def _operation(binding: "Binding", revise: Revise | None = None) -> "TranscodedOperation":
    route = binding.route
    headers = (ETAG if binding.has_etag else {}) | (LOCATION if route.location else {})
    errors = {*route.errors}
    if binding.variables or binding.query_members:
        errors.add(400)
    if binding.variables:
        errors.add(404)
    if binding.if_match:
        errors.add(409)
    return TranscodedOperation(
        binding.verb.upper(),
        binding.path,
        Transcoder(binding, revise),
        route.tag,
        status=route.status or 200,
        errors=sorted(errors),
        headers=headers,
        if_match=binding.if_match,
        request_headers=IfNoneMatch if binding.only_new else None,
    )


@dataclass(frozen=True)
class Binding:
    """A method, and one of the routes that call it."""

    client: str
    method: MethodDescriptor
    rule: http_pb2.HttpRule
    text: str = ""
    """The effect of the route; by default that of the method."""

    @property
    def description(self) -> str:
        """The effect of the route, for clients."""
        return self.text or self.route.description or comment(self.method.full_name)

    @property
    def route(self) -> rest_pb2.Route:
        """The route of the method."""
        route: rest_pb2.Route = self.method.GetOptions().Extensions[rest_pb2.route]
        return route

    @property
    def verb(self) -> str:
        """The method of HTTP."""
        return self.rule.WhichOneof("pattern") or ""

    @cached_property
    def variables(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of the fields that the path of the URL contains, by their names there."""
        paths = [tuple(each.split(".")) for each in _VARIABLE.findall(self.template)]
        return {self._at(path).name: path for path in paths}

    @property
    def template(self) -> str:
        """The path, with fields in braces."""
        template: str = getattr(self.rule, self.verb)
        return template

    @property
    def path(self) -> str:
        """The path, with names in braces."""
        names = iter(self.variables)
        return _VARIABLE.sub(lambda _: f"{{{next(names)}}}", self.template)

    @property
    def path_members(self) -> Mapping[str, Member]:
        """The members in the path by their names."""
        return {name: self._at(path) for name, path in self.variables.items()}

    @property
    def body(self) -> Descriptor | None:
        """The message that the body has members of."""
        if self.rule.body in ("", "*"):
            return self.method.input_type if self.rule.body else None
        return self.method.input_type.fields_by_name[self.rule.body].message_type

    @property
    def body_members(self) -> tuple[Member, ...]:
        """The members of the body."""
        if self.body is None:
            return ()
        if self.rule.body == "*":
            return self._others
        return members(self.body)

    @property
    def query_members(self) -> tuple[Member, ...]:
        """The members of the query."""
        if self.verb != "get" and self.rule.body in ("", "*"):
            return ()
        return tuple(each for each in self._others if each.message is None or each.is_time)

    @property
    def response(self) -> Descriptor | None:
        """The message that the response has members of; None for the identifier of what is gone."""
        if field := self.rule.response_body:
            return self.method.output_type.fields_by_name[field].message_type
        return None if self.verb == "delete" else self.method.output_type

    @property
    def response_without(self) -> tuple[str, ...]:
        """The fields that the response lacks."""
        if field := self.rule.response_body:
            options = member(self.method.output_type.fields_by_name[field]).options
            return tuple(options.without)
        return ("etag",)

    @property
    def response_name(self) -> str:
        """The name of the response in the description, if it is not that of the message."""
        if field := self.rule.response_body:
            return member(self.method.output_type.fields_by_name[field]).options.without_name
        return ""

    @property
    def if_match(self) -> bool:
        """Whether the header `If-Match` protects concurrent changes."""
        return self.verb != "get" and "etag" in self.method.input_type.fields_by_name

    @property
    def only_new(self) -> bool:
        """Whether the header `If-None-Match: *` says that the object must be new."""
        return "only_new" in self.method.input_type.fields_by_name

    @property
    def has_etag(self) -> bool:
        """Whether the response has an ETag."""
        return self.verb != "delete" and "etag" in self.method.output_type.fields_by_name

    @property
    def _others(self) -> tuple[Member, ...]:
        """The fields of the request that are neither in the path nor in headers."""
        taken = {path[0] for path in self.variables.values()} | _HEADERS
        return tuple(
            each for each in members(self.method.input_type) if each.field.name not in taken
        )

    def _at(self, path: tuple[str, ...]) -> Member:
        *parents, last = path
        message: Any = self.method.input_type
        for name in parents:
            message = message.fields_by_name[name].message_type
        return member(message.fields_by_name[last])


class TranscodedOperation(Operation):
    """A route whose models are made of the contract when they are first needed."""

    @property
    def binding(self) -> Binding:
        """The method."""
        return cast("Transcoder", self.function).binding

    @cached_property
    def query(self) -> type[BaseModel] | None:
        """The model of the query, None if the route has no query parameters."""
        parts = self.binding.query_members
        return schemas.query_model(self.binding.method.input_type, parts) if parts else None

    @cached_property
    def body(self) -> type[BaseModel] | None:
        """The model of the JSON body, None if there is none."""
        binding = self.binding
        if binding.body is None:
            return None
        return schemas.body_model(binding.body, binding.body_members)

    def answer(self, api: Call, response: Message) -> dict[str, Any]:
        """Return the members for a response that has the same fields as that of the method."""
        return cast("Transcoder", self.function).answer(api, response, {})

    @property
    def form(self) -> None:
        """No route has a form."""

    @cached_property
    def path_parameters(self) -> Mapping[str, Any]:
        """The types of the path's parameters by name."""
        parts = self.binding.path_members
        return {name: schemas.path_type(each) for name, each in parts.items()}

    @cached_property
    def response(self) -> type[BaseModel]:
        """The model of the response."""
        binding = self.binding
        if binding.response is None:
            return Deleted
        return schemas.response_model(
            binding.response, binding.response_without, binding.response_name
        )

    @property
    def docstring(self) -> str:
        """The summary and the description."""
        summary, _, rest = self.binding.description.partition("\n\n")
        summary, stop, further = summary.partition(". ")
        paragraphs = [f"{summary}." if stop else summary, further, rest]
        return "\n\n".join(filter(None, paragraphs))


class Transcoder:
    """Answers the requests of a route with a call of its method."""

    def __init__(self, binding: Binding, revise: Revise | None = None) -> None:
        self.binding = binding
        self._revise = revise
        self._client = binding.client
        self._name = binding.method.name
        self._variables = binding.variables
        parts = binding.path_members.items()
        self._numbers = {name for name, part in parts if schemas.is_number(part)}
        self._body = binding.rule.body
        self._if_match = binding.if_match
        self._only_new = binding.only_new
        self._has_etag = binding.has_etag
        self._response_body = binding.rule.response_body
        self._location = binding.route.location
        self._no_store = binding.route.no_store

    @cached_property
    def _request(self) -> Any:  # noqa: ANN401 - the class of the message
        return GetMessageClass(self.binding.method.input_type)

    @cached_property
    def _read_body(self) -> Any:  # noqa: ANN401 - a function
        return reader(self.binding.body_members)

    @cached_property
    def _read_query(self) -> Any:  # noqa: ANN401 - a function
        return reader(self.binding.query_members, in_query=True)

    @cached_property
    def _write(self) -> Any:  # noqa: ANN401 - a function
        response = self.binding.response
        return response and writer(response, self.binding.response_without)

    async def __call__(
        self,
        api: Call,
        *,
        body: BaseModel | None = None,
        query: BaseModel | None = None,
        **path: str,
    ) -> dict[str, Any]:
        """Return the members of the response."""
        request = self.fields(body, api.json, query, path)
        if self._if_match:
            request["etag"] = api.expected_etag()
        if self._only_new:
            request["only_new"] = api.must_be_new()
        method = getattr(getattr(api.services, self._client), self._name)
        message = self._request(**request)
        response = await call(method, message)
        if self._revise is not None:
            response = await self._revise(api.state, message, response)
        return self.answer(api, response, path)

    def answer(self, api: Call, response: Any, path: Mapping[str, str]) -> dict[str, Any]:  # noqa: ANN401 - of the method, or one with the same fields
        """Return the members of the response to a request."""
        if self._has_etag:
            api.set_etag(response.etag)
        if self._no_store:
            api.headers["cache-control"] = "no-store"
        if self._write is None:
            return {"id": [*path.values()][-1], "deleted": True}
        content = getattr(response, self._response_body) if self._response_body else response
        members_: dict[str, Any] = self._write(content)
        if self._location:
            api.headers["location"] = self._location.format_map(members_)
        return members_

    def fields(
        self,
        body: BaseModel | None,
        text: Place,
        query: BaseModel | None,
        path: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return the fields of the request: from a body and its text, a query and a path."""
        fields: dict[str, Any] = {}
        if body is not None:
            read = self._read_body(body, text)
            fields = read if self._body == "*" else {self._body: read}
        if query is not None:
            fields |= self._read_query(query, Place(None))
        for name, value in path.items():
            self._set(fields, name, value)
        return fields

    def _set(self, fields: dict[str, Any], name: str, value: str) -> None:
        """Set the field of a parameter of the path; a body may only repeat it."""
        *parents, last = self._variables[name]
        for parent in parents:
            fields = fields.setdefault(parent, {})
        if fields.get(last) not in (None, "", value):
            raise invalid(name, "is not the one of the path")
        fields[last] = _number(value) if name in self._numbers else value


def _number(text: str) -> int:
    """Return a number in a path; any other text names an object that does not exist."""
    if text.isascii() and text.isdecimal() and 1 <= (number := int(text[:12])) < 2**31:
        return number
    raise NotFoundError(f"There is no number {text[:20]!r}. Numbers are counted from 1.")
