"""Limits of what providers send."""

import json
from typing import Any

import msgspec
from boundaries.rows.forms import Check
from connector.provider import Exchange, provider
from heddle_connector.completion import chunks
from heddle_connector.completion.passthrough_fields import PassthroughFields
from heddle_connector.completion.reader import CompletionReader
from heddle_connector.connectors.anthropic import reader as anthropic
from heddle_connector.generation import event_encoding
from heddle_connector.generation.events import Usage
from heddle_connector.http import Request, http_client, provider_errors
from heddle_connector.http.lines import LineDecoder
from heddle_connector.http.tolerant_json import any_json
from heddle_connector.http.tunnel import _ProxyAnswer
from heddle_connector.toolcalls import brackets, coercion
from heddle_runtime.errors import ProviderGarbledError


def _fields(size: int) -> bool:
    fields = PassthroughFields.of_message()
    fields.take({"f": msgspec.Raw(json.dumps("x" * (size - len('f""'))).encode())})
    return not fields.json()


def _completion(*calls: dict[str, Any]) -> None:
    reader = CompletionReader()
    reader.read([json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})])
    reader.check()


def _call(number: int, arguments: str = "") -> dict[str, Any]:
    return {"index": number, "id": f"c{number}", "function": {"name": "f", "arguments": arguments}}


async def _head(size: int) -> bool:
    """Return whether the beginning of a head is refused, whose rest never arrives."""

    async def script(exchange: Exchange) -> None:
        exchange.writer.write(b"HTTP/1.1 200 OK\r\nx: ".ljust(size, b"x"))
        exchange.cut()

    async with provider(script) as server, http_client(5) as http:
        try:
            await http.fetch(Request(server.url, {}, 5))
        except ProviderGarbledError:
            return True
        except Exception:  # noqa: BLE001 - the provider closes the connection
            return False
        return False


async def _proxy_head(size: int) -> bool:
    """Return whether no more is read of the answer of a proxy whose head does not end."""
    answer = _ProxyAnswer()
    answer.data_received(b"HTTP/1.1 200 ".ljust(size, b"x"))
    return answer.accepted.done()


async def _body(size: int) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, b"x" * size)

    async with provider(script) as server, http_client(5) as http:
        await http.fetch(Request(server.url, {}, 5))


def _alternatives(depth: int) -> bool:
    """Return whether a type is not found below alternatives inside of each other."""
    schema: Any = {"type": "integer"}
    for _ in range(depth):
        schema = {"anyOf": [schema]}
    types: set[str] = set()
    coercion._collect(schema, {}, types, 0)
    return "integer" not in types


_CONNECTOR = "heddle_connector"


def _objects(count: int) -> object:
    return chunks.decode(b'{"choices":[' + b"{}," * (count - 3) + b'{}], "x": ""}'.ljust(70_000))


def _unexpected_values(count: int) -> object:
    return any_json(f"[{','.join(['1'] * (count - 1))}]".encode()) and None


ROWS: dict[str, Check] = {
    f"{_CONNECTOR}.http.tolerant_json.MAX_OBJECTS": lambda n: _objects(n) and None,
    f"{_CONNECTOR}.http.tolerant_json.MAX_UNEXPECTED_VALUES": _unexpected_values,
    f"{_CONNECTOR}.completion.passthrough_fields.MAX_FIELDS_BYTES": _fields,
    f"{_CONNECTOR}.completion.reader.MAX_ARGUMENTS_BYTES": lambda n: _completion(
        _call(0, "x" * (n - len('""')))
    ),
    f"{_CONNECTOR}.completion.reader.MAX_CALLS": lambda n: _completion(*map(_call, range(n))),
    f"{_CONNECTOR}.connectors.anthropic.reader.MAX_BLOCK_CHARACTERS": lambda n: anthropic._Block(
        {}
    ).add("x" * n),
    f"{_CONNECTOR}.generation.event_encoding._MAX_TOKENS": lambda n: (
        not event_encoding._is_plausible(Usage(n))
    ),
    f"{_CONNECTOR}.http.lines.MAX_LINE_BYTES": lambda n: LineDecoder().feed(b"x" * n),
    f"{_CONNECTOR}.http.connection.MAX_HEAD_BYTES": _head,
    f"{_CONNECTOR}.http.response.MAX_BODY_BYTES": _body,
    f"{_CONNECTOR}.http.tunnel._MAX_HEAD_BYTES": _proxy_head,
    f"{_CONNECTOR}.http.provider_errors._MAX_RETRY_AFTER_SECONDS": lambda n: (
        provider_errors._bounded(n) is None
    ),
    f"{_CONNECTOR}.toolcalls.brackets.MAX_DEPTH": lambda n: (
        not brackets.shallow("[" * n + "]" * n, brackets.JSON)
    ),
    f"{_CONNECTOR}.toolcalls.coercion._MAX_DEPTH": _alternatives,
}
