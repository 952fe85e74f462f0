"""The methods of capabilities, and how their arguments and results travel between processes.

All of it is read from the annotations of the capabilities. A value travels as JSON; messages of the
contracts are in it as base64 text.
"""

import inspect
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol, get_origin, get_type_hints

import httpx
import msgspec
from google.protobuf.message import Message

from heddle_tools_service.capabilities.small_model import SmallModel


class HttpAnswer(msgspec.Struct):
    """The answer of a server."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Http(Protocol):
    """Sends requests to other servers, to the addresses that the operator permits."""

    async def send(
        self, method: str, url: str, headers: list[tuple[str, str]], body: bytes, seconds: float
    ) -> HttpAnswer:
        """Send a request and return the whole answer.

        Raises:
            ToolUnavailableError: There is no answer; the kind is a class of httpx.
        """


_ADAPTED: tuple[type, ...] = (httpx.AsyncClient, SmallModel)
"""Capabilities that plugins get in another way: through `Http` and `Generate`."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a capability."""

    signature: inspect.Signature
    arguments: type[msgspec.Struct]
    result: Any
    """The type of the result."""


def name_of(kind: type) -> str:
    """Return the name by which both processes know a type: `module:class`."""
    return f"{kind.__module__}:{kind.__qualname__}"


def type_of(name: str) -> type:
    """Return the type of a name."""
    module, _, qualified = name.partition(":")
    kind: type = getattr(import_module(module), qualified)
    return kind


def can_travel(kind: type) -> bool:
    """Return whether plugins can call a capability: values alone are its arguments."""
    return kind not in _ADAPTED and not any(
        get_origin(argument) is Callable
        for method in methods_of(kind).values()
        for argument in get_type_hints(method.arguments).values()
    )


@cache
def methods_of(capability: type) -> Mapping[str, Method]:
    """Return the methods of a capability by name."""
    return {
        name: _method(value)
        for name, value in vars(capability).items()
        if inspect.iscoroutinefunction(value) and (name == "__call__" or not name.startswith("_"))
    }


def encoded(value: object) -> bytes:
    """Return a value for the other process."""
    # Not `msgspec.json`: file names and diffs can have lone surrogates, which it refuses.
    return json.dumps(msgspec.to_builtins(value, enc_hook=_plain)).encode()


def decoded(data: bytes, kind: Any) -> Any:  # noqa: ANN401 - a value of the type `kind`
    """Return a value from the other process.

    Raises:
        ValueError: It is not of the type `kind`.
    """
    return msgspec.convert(json.loads(data), kind, dec_hook=_from_plain)


def _method(function: Callable[..., Any]) -> Method:
    hints = get_type_hints(function)
    signature = inspect.signature(function)
    _, *parameters = signature.parameters.values()
    fields = [_field(each, hints[each.name]) for each in parameters]
    arguments = msgspec.defstruct(function.__name__.strip("_"), fields, kw_only=True)
    return Method(signature, arguments, hints["return"])


def _field(parameter: inspect.Parameter, kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any type
    if parameter.default is parameter.empty:
        return parameter.name, kind
    default = parameter.default
    return parameter.name, kind, msgspec.field(default_factory=lambda: default)


def _plain(value: object) -> object:
    if isinstance(value, Message):
        return b64encode(value.SerializeToString()).decode("ascii")
    if isinstance(value, Sequence):  # such as the repeated fields of messages
        return list(value)
    message = f"{type(value).__name__} cannot travel between processes"
    raise NotImplementedError(message)


def _from_plain(kind: type, value: object) -> object:
    if issubclass(kind, Message) and isinstance(value, str):
        message: Message = kind()
        message.ParseFromString(b64decode(value))
        return message
    raise NotImplementedError
