"""The load: answers in both forms, reads and writes, each again and again."""

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable

import httpx
from chaos.history import History, Outcome

STREAMED, WHOLE, WRITE, READ = "streamed answer", "whole answer", "write", "read"
KINDS = (STREAMED, WHOLE, WRITE, READ)
PATIENCE = 20.0
"""Seconds after which a request counts as hung."""
MODEL = {"connector": "bypass", "model": "simple-bypass"}
_BODY = {"model": "1", "messages": [{"role": "user", "content": "hi"}]}
_PAUSE = 0.05


async def streamed(client: httpx.AsyncClient, _: History) -> tuple[Outcome, str]:
    """Ask for a streamed answer."""
    body = {**_BODY, "stream": True}
    async with client.stream("POST", "/v1/chat/completions", json=body) as response:
        if response.status_code != httpx.codes.OK:
            return typed(response.status_code, await response.aread())
        async for line in response.aiter_lines():
            if line == "data: [DONE]":
                return "answer", ""
            if line.startswith("data: {") and "error" in json.loads(line[6:]):
                return "error", ""
    return "untyped", "the stream ended without its end mark"


async def whole(client: httpx.AsyncClient, _: History) -> tuple[Outcome, str]:
    """Ask for a whole answer."""
    response = await client.post("/v1/chat/completions", json=_BODY)
    return typed(response.status_code, response.content)


_numbers = itertools.count()


async def write(client: httpx.AsyncClient, history: History) -> tuple[Outcome, str]:
    """Create an assistant, and note it if that was acknowledged."""
    name = f"written_{next(_numbers)}"
    response = await client.post("/assistants", json={"name": name, "model": MODEL})
    if response.is_success:
        history.acknowledged[str(response.json()["id"])] = name
    return typed(response.status_code, response.content)


async def read(client: httpx.AsyncClient, _: History) -> tuple[Outcome, str]:
    """List some assistants."""
    response = await client.get("/assistants", params={"page_size": 5})
    return typed(response.status_code, response.content)


OPERATIONS: dict[str, Callable[[httpx.AsyncClient, History], Awaitable[tuple[Outcome, str]]]] = {
    STREAMED: streamed,
    WHOLE: whole,
    WRITE: write,
    READ: read,
}


def typed(status: int, body: bytes) -> tuple[Outcome, str]:
    """Return how a response ends: an answer, an error in OpenAI's form, or something else."""
    if status < httpx.codes.BAD_REQUEST:
        return "answer", ""
    try:
        error = json.loads(body)["error"]
        if error["message"] and error["type"] and error["code"] != "internal_error":
            return "error", ""
    except (ValueError, KeyError, TypeError):
        pass
    return "untyped", f"{status} {body[:200]!r}"


async def drive(client: httpx.AsyncClient, kind: str, history: History) -> None:
    """Do operations of one kind until cancelled."""
    operation = OPERATIONS[kind]
    while True:
        started = time.monotonic()
        try:
            outcome, detail = await operation(client, history)
        except httpx.TimeoutException:
            outcome, detail = "untyped", f"no end within {PATIENCE:g} s"
        except httpx.TransportError as error:
            outcome, detail = "untyped", repr(error)
        history.record(kind, outcome, started, detail)
        await asyncio.sleep(_PAUSE)
