"""Limits of the gateway's requests."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, cast

import httpx
from boundaries.rows.forms import Check
from gateway.test_connection_protocol import serving
from heddle_gateway.auth import authenticator, issued_keys
from heddle_gateway.auth.rate_limits import FairTurns
from heddle_gateway.http import body as bodies
from heddle_gateway.http import json_text
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.websocket import WebSocket, WebSockets
from heddle_gateway.login.pages import is_place_here
from heddle_gateway.openai import embeddings, served_images, vector_store_search
from heddle_gateway.openai.batches import worker as lines_of_batches
from heddle_gateway.openai.chat import messages, request
from heddle_gateway.openai.conversations.background import check_runs
from heddle_gateway.openai.conversations.turns import LastTurn
from heddle_migration_service.knowledge_server import ingestion
from heddle_migration_service.knowledge_server.ingestion_parameters import ChunkParameters
from heddle_migration_service.knowledge_server.ingestion_sources import UrlParameters
from heddle_migration_service.knowledge_server.results import PARAMETERS
from heddle_migration_service.lti import roster, signatures
from heddle_migration_service.proxy import lamb_server, user_tokens
from heddle_migration_service.proxy.failures import GarbledError
from heddle_orchestrator.candidates import check_candidates
from heddle_runtime.errors import ResourceExhaustedError
from heddle_runtime.identity.callers import Identity
from migration.lti.platform import signed
from starlette.requests import Request

_LINK, _NOW = "https://heddle.example/lti", 1_800_000_000


async def _head(size: int) -> bool:
    """Return whether the beginning of a head is refused, whose rest never arrives."""
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nx: ".ljust(size, b"x"))
        writer.write_eof()
        response = await reader.read()
        writer.close()
    return response.startswith(b"HTTP/1.1 431 ")


async def _login(size: int) -> bool:
    """Return whether what LAMB's login returns is refused for its size."""
    try:
        await lamb_server._body(httpx.Response(200, stream=httpx.ByteStream(bytes(size))))
    except GarbledError:
        return True
    return False


def _launch(**members: str) -> None:
    members = {"oauth_timestamp": str(_NOW), **members}
    signatures.check_launch(signed(_LINK, "k", "s", members), [_LINK], "s", _NOW)


def _membership(count: int) -> None:
    value = ["v"] * count
    vector_store_search.Membership.model_validate({"type": "in", "key": "k", "value": value})


def _embedded(texts: list[str]) -> None:
    embeddings.EmbeddingRequest.model_validate({"model": "default", "input": texts})


async def _embedding(requests: int) -> None:
    async with AsyncExitStack() as running:
        for _ in range(requests):
            await running.enter_async_context(embeddings.one_of_few())


def _filter(levels: int) -> None:
    condition: Any = {"type": "eq", "key": "k", "value": "v"}
    for _ in range(levels - 1):
        condition = {"type": "and", "filters": [condition]}
    vector_store_search.to_filter(vector_store_search.Compound.model_validate(condition))


def _conversation(count: int = 1, *, content: object = "a", **fields: object) -> None:
    messages = [{"role": "user", "content": content}] * count
    request.parse_request(json.dumps({"messages": messages, **fields}).encode(), "1")


def _functions(count: int) -> None:
    tools = [{"type": "function", "function": {"name": f"f{each}"}} for each in range(count)]
    _conversation(tools=tools)


def _filters(count: int) -> None:
    equal = {"type": "eq", "key": "k", "value": "v"}
    vector_store_search.Compound.model_validate({"type": "and", "filters": [equal] * count})


async def _form(fields: int) -> None:
    lines = ["--b\r\ncontent-disposition: form-data; name=a\r\n\r\nb\r\n"] * fields
    body = "".join([*lines, "--b--\r\n"]).encode()

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body}

    headers = [(b"content-type", b"multipart/form-data; boundary=b")]
    await bodies.read_form(Request({"type": "http", "headers": headers}, receive))


async def _waiting(count: int) -> bool:
    """Return whether a request is refused while others of its organisation wait."""
    turns = FairTurns(1)
    identities = [Identity("u", organization) for organization in ("a", "b")]
    for identity in identities:
        await turns.enter(identity)
    waiting = [asyncio.create_task(turns.enter(identities[1])) for _ in range(count)]
    await asyncio.sleep(0)
    refused = [task for task in waiting if task.done()]
    for task in waiting:
        task.cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    return any(isinstance(results[waiting.index(task)], ResourceExhaustedError) for task in refused)


_OPENAI = "heddle_gateway.openai"


def _noted(size: int) -> bool:
    """Return whether parameters whose JSON has this size are left out."""
    values = {"a": "x" * 200, "b": "x" * 200, "c": ""}
    values["c"] = "x" * (size - len(json.dumps(values)))
    return ingestion._noted("url_ingest", values)[PARAMETERS] == "{}"


def _urls(count: int) -> None:
    [*UrlParameters.model_construct(urls=["http://a"] * count).sources(None)]


def _chunk_size(size: int) -> None:
    ChunkParameters.model_construct({"chunk_size"}, chunk_size=size).splitting()


def _batch_line(number: int, **members: Any) -> str:
    line = {"custom_id": str(number), "method": "POST", "url": "/v1/responses", "body": {}}
    return json.dumps({**line, **members})


def _batch(*lines: str) -> bool:
    """Return whether a file of lines is refused."""
    return bool(lines_of_batches.read_lines("\n".join(lines).encode(), "/v1/responses")[1])


def _last_turn(size: int) -> bool:
    last_turn = LastTurn()
    last_turn.keep("resp_1", [bytes(size)])
    return last_turn.take("resp_1") is None


def _connected(callers: Sequence[int]) -> None:
    """Open connections of callers."""
    open_ = WebSockets()
    for number, caller in enumerate(callers):
        open_.check(caller, stopping=False)
        open_[cast("WebSocket", number)] = caller


def _surrogates(count: int) -> None:
    json_text.parse(b'{"x":"' + b"\\ud800" * count + b'"}')


ROWS: dict[str, Check] = {
    "heddle_migration_service.lti.roster._MAX_PAGE_BYTES": roster.check_size,
    "heddle_migration_service.lti.signatures._MAX_NONCE": lambda n: _launch(oauth_nonce="n" * n),
    "heddle_migration_service.lti.signatures.MAX_AGE_SECONDS": lambda n: _launch(
        oauth_timestamp=str(_NOW - n)
    ),
    "heddle_gateway.http.json_text.MAX_BODY_VALUES": lambda n: json_text.check_values(
        f'{{"a": [{",".join(["1"] * (n - 2))}]}}'.encode()
    ),
    "heddle_gateway.http.json_text._MAX_SURROGATES": _surrogates,
    "heddle_migration_service.knowledge_server.ingestion._MAX_NOTE": _noted,
    "heddle_migration_service.knowledge_server.ingestion._MAX_VALUE": lambda n: (
        not ingestion._is_short("x" * n)
    ),
    "heddle_migration_service.knowledge_server.ingestion_parameters.MAX_CHARACTERS": _chunk_size,
    "heddle_migration_service.knowledge_server.ingestion_sources.MAX_URLS": _urls,
    "heddle_gateway.login.pages.MAX_RETURN_CHARACTERS": lambda n: (
        not is_place_here("/" + "a" * (n - 1))
    ),
    "heddle_gateway.auth.authenticator._MAX_BYTES": lambda n: authenticator._check(
        b"x-openwebui-user-email", [b"x" * n]
    ),
    "heddle_gateway.auth.issued_keys._MAX_CHARACTERS": lambda n: (
        not issued_keys._may_be_issued("hk_".ljust(n, "x"))
    ),
    "heddle_migration_service.proxy.user_tokens._MAX_CHARACTERS": lambda n: (
        not user_tokens._may_be_token("..".ljust(n, "x"))
    ),
    "heddle_migration_service.proxy.user_tokens._MAX_EMAIL_CHARACTERS": lambda n: (
        not user_tokens._is_address("@".ljust(n, "x"))
    ),
    "heddle_migration_service.proxy.lamb_server.MAX_RESPONSE_BYTES": _login,
    "heddle_gateway.auth.rate_limits._MAX_WAITING": _waiting,
    "heddle_gateway.http.limited_protocol.MAX_HEAD_BYTES": _head,
    "heddle_gateway.http.body.MAX_FIELDS": _form,
    f"{_OPENAI}.conversations.background.MAX_RUNS": check_runs,
    f"{_OPENAI}.batches.worker.MAX_ID_CHARACTERS": lambda n: _batch(
        _batch_line(1, custom_id="x" * n)
    ),
    "heddle_runtime.contract.limits.MAX_BATCH_LINES": lambda n: _batch(*map(_batch_line, range(n))),
    f"{_OPENAI}.conversations.turns.MAX_TURN_BYTES": _last_turn,
    "heddle_gateway.http.websocket.MAX_CONNECTIONS": lambda n: _connected(range(n)),
    "heddle_gateway.http.websocket.MAX_OF_ONE_CALLER": lambda n: _connected([0] * n),
    f"{_OPENAI}.chat.messages.MAX_MEDIA_BYTES": lambda n: (
        messages._decoded(b64encode(bytes(n)).decode(), Place(b"")) and None
    ),
    "heddle_runtime.contract.limits.MAX_CANDIDATES": lambda n: check_candidates(n, loops=False),
    f"{_OPENAI}.chat.request.MAX_PARTS_IN_ALL": lambda n: (
        request.count_parts([{"content": [{}] * n}], Place(b"")) and None
    ),
    f"{_OPENAI}.chat.message_schema.MAX_MESSAGES": _conversation,
    f"{_OPENAI}.chat.message_schema.MAX_PARTS": lambda n: _conversation(
        content=[{"type": "text", "text": "a"}] * n
    ),
    f"{_OPENAI}.chat.schema.MAX_FUNCTIONS": _functions,
    f"{_OPENAI}.embeddings.MAX_TEXTS": lambda n: _embedded(["a"] * n),
    f"{_OPENAI}.embeddings.MAX_TEXT_CHARS": lambda n: _embedded(["a" * n]),
    f"{_OPENAI}.embeddings.MAX_CONCURRENT": _embedding,
    f"{_OPENAI}.vector_store_search.MAX_FILTERS": _filters,
    f"{_OPENAI}.vector_store_search.MAX_VALUES": _membership,
    f"{_OPENAI}.vector_store_search.MAX_LEVELS": _filter,
    f"{_OPENAI}.served_images._MAX_PAGES": lambda n: served_images._number(str(n)) and None,
}
