"""The load: answers in both forms, reads and writes, each again and again."""

import asyncio
import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from chaos.history import History, Outcome
from patience import until

STREAMED, WHOLE, WRITE, READ = "streamed answer", "whole answer", "write", "read"
KINDS = (STREAMED, WHOLE, WRITE, READ)
PATIENCE = 20.0
"""Seconds after which a request counts as hung."""
BYPASS = {"connector": "bypass", "model": "simple-bypass"}
_numbers = itertools.count()


@dataclass
class Load:
    """Clients that repeat operations, and the history of what they did and saw."""

    client: httpx.AsyncClient
    assistant: str = "1"
    """The id of the assistant that answers."""
    model: dict[str, str] = field(default_factory=lambda: BYPASS)
    """Of the assistants that are written."""
    questions: Sequence[str] = ("hi",)
    """What the assistant is asked, one after the other."""
    pause: float = 0.05
    """Seconds between two operations of a client."""
    history: History = field(default_factory=History)
    kinds: Sequence[str] = KINDS
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, clients: int = 2) -> None:
        """Begin a history with some clients of each kind."""
        self.history = History()
        self._tasks = [
            asyncio.create_task(self._drive(kind)) for kind in self.kinds for _ in range(clients)
        ]

    async def stop(self) -> None:
        """Let running operations end, and begin no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def steady(self) -> None:
        """Wait until every kind of load gets answers to operations that begin now."""
        began = time.monotonic()
        await until(lambda: set(self.kinds) <= set(self.history.answered_since(began)), 60)

    async def exposed(self, count: int = 3) -> None:
        """Wait until so many operations of each kind have begun from now on and ended."""
        began = time.monotonic()
        await until(
            lambda: all(
                sum(it.kind == kind for it in self.history.since(began)) >= count
                for kind in self.kinds
            ),
            PATIENCE + 10,
        )

    async def recovered(self) -> float:
        """Return the seconds from now until every kind of load got an answer again."""
        began = time.monotonic()
        await self.steady()
        return time.monotonic() - began

    async def check(self) -> None:
        """End the load, and compare the acknowledged writes with what is there."""
        await self.stop()
        await self.check_assistants(self.client)

    async def check_assistants(self, client: httpx.AsyncClient) -> None:
        """Compare the acknowledged assistants with what a client reads."""
        present: dict[str, str] = {}
        for key in tuple(self.history.acknowledged):
            response = await client.get(f"/assistants/{key}")
            if response.is_success:
                present[key] = response.json()["name"]
        self.history.compare(present)

    async def once(self, kind: str, assistant: str = "") -> tuple[Outcome, str]:
        """Do one operation, and return how it ended."""
        match kind:
            case "streamed answer":
                return await self._streamed(assistant)
            case "whole answer":
                body = self._question(assistant)
                response = await self.client.post("/v1/chat/completions", json=body)
            case "write":
                response = await self._write()
            case _:
                response = await self.client.get("/assistants", params={"page_size": 5})
        return typed(response.status_code, response.content)

    async def _streamed(self, assistant: str) -> tuple[Outcome, str]:
        body = {**self._question(assistant), "stream": True}
        async with self.client.stream("POST", "/v1/chat/completions", json=body) as response:
            if response.status_code != httpx.codes.OK:
                return typed(response.status_code, await response.aread())
            async for line in response.aiter_lines():
                if line == "data: [DONE]":
                    return "answer", ""
                if line.startswith("data: {") and "error" in json.loads(line[6:]):
                    return "error", line
        return "untyped", "the stream ended without its end mark"

    def _question(self, assistant: str) -> dict[str, Any]:
        question = self.questions[next(_numbers) % len(self.questions)]
        messages = [{"role": "user", "content": question}]
        return {"model": assistant or self.assistant, "messages": messages}

    async def _write(self) -> httpx.Response:
        """Create an assistant, and note it if that was acknowledged."""
        name = f"written_{next(_numbers)}"
        body = {"name": name, "model": self.model}
        history = self.history
        response = await self.client.post("/assistants", json=body)
        if response.is_success:
            history.acknowledged[str(response.json()["id"])] = name
        return response

    async def _drive(self, kind: str) -> None:
        while True:
            started = time.monotonic()
            try:
                outcome, detail = await self.once(kind)
            except httpx.TimeoutException:
                outcome, detail = "untyped", f"no end within {PATIENCE:g} s"
            except httpx.TransportError as error:
                outcome, detail = "torn", repr(error)
            self.history.record(kind, outcome, started, detail)
            await asyncio.sleep(self.pause)


def typed(status: int, body: bytes) -> tuple[Outcome, str]:
    """Return how a response ends: an answer, an error in OpenAI's form, or something else."""
    if status < httpx.codes.BAD_REQUEST:
        return "answer", ""
    try:
        error = json.loads(body)["error"]
        if error["message"] and error["type"] and error["code"] != "internal_error":
            return "error", f"{status} {error['message']}"
    except (ValueError, KeyError, TypeError):
        pass
    return "untyped", f"{status} {body[:200]!r}"
