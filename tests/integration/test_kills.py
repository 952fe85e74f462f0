"""kill -9 of each service in turn under load: an answer or a typed error, never silence."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import pytest
from integration.browser import browser
from integration.processes import GATEWAY, MODULES, Processes, processes
from integration.provider import SLOW, providing
from integration.whole import write_assistant
from patience import until

CLIENTS = 6
TOOLS = "heddle_tools_service"
RECOVERED_WITHIN = 3.0
"""Seconds from the restarted process being ready to the first complete answer."""
PATIENCE = 20.0
ANSWER = "".join(f"{number} " for number in range(20))


@dataclass
class Tally:
    """How requests ended."""

    answers: int = 0
    errors: int = 0
    torn: list[str] = field(default_factory=list)


@pytest.mark.exhaustive
async def test_requests_end_and_the_stack_recovers(tmp_path: Path) -> None:
    async with providing() as provider:
        write_assistant(
            tmp_path,
            "1",
            f"model: {{connector: openai, model: {SLOW}}}\n"
            "tools: [{type: word_count}]\nprompt_template: '{word_count}{user_input}'\n",
        )
        async with processes(
            tmp_path,
            HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
            HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
            HEDDLE_ORCHESTRATOR_ASSISTANT_CACHE_SECONDS="0",
        ) as heddle:
            recoveries = {}
            for module in MODULES:
                tally = Tally()
                load = [asyncio.create_task(_ask_on(heddle, tally, module)) for _ in range(CLIENTS)]
                await until(partial(_answered, tally))
                await asyncio.to_thread(heddle.kill, module)
                await asyncio.sleep(0.7)
                await asyncio.to_thread(heddle.start, module)
                await asyncio.to_thread(heddle.wait_until_ready, module)
                recoveries[module] = await _recovered(heddle)
                for task in load:
                    task.cancel()
                await asyncio.gather(*load, return_exceptions=True)
                assert tally.torn == [], (module, tally)
                if module == TOOLS:  # an answer without its tools is still an answer
                    assert tally.errors == 0, tally

    assert max(recoveries.values()) < RECOVERED_WITHIN, recoveries


def _answered(tally: Tally) -> bool:
    return tally.answers >= CLIENTS


async def _ask_on(heddle: Processes, tally: Tally, killed: str) -> None:
    """Ask again and again, and note how each request ended."""
    async with browser(heddle.url, timeout=PATIENCE) as client:
        while True:
            try:
                ended = await _ask(client)
            except httpx.TimeoutException:
                tally.torn.append("hung")
            except httpx.TransportError as error:
                # Only a client of the gateway itself can see its connection torn.
                if killed != GATEWAY:
                    tally.torn.append(repr(error))
                await asyncio.sleep(0.05)
            else:
                tally.answers += ended == "answer"
                tally.errors += ended == "error"
                if ended not in ("answer", "error"):
                    tally.torn.append(ended)
                await asyncio.sleep(0.05 if ended == "error" else 0)


async def _ask(client: httpx.AsyncClient) -> str:
    """Return `answer`, `error`, or what else a request ended in."""
    body = {"model": "1", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    text = ""
    async with client.stream("POST", "/v1/chat/completions", json=body) as response:
        if response.status_code != httpx.codes.OK:
            error = json.loads(await response.aread())["error"]
            return "error" if error["message"] and error["type"] else "an error without words"
        async for line in response.aiter_lines():
            if line == "data: [DONE]":
                return "answer" if text == ANSWER else f"a wrong answer: {text!r}"
            if line.startswith("data: "):
                chunk = json.loads(line.removeprefix("data: "))
                if "error" in chunk:
                    return "error"
                text += chunk["choices"][0]["delta"].get("content") or ""
    return f"a torn answer: {text!r}"


async def _recovered(heddle: Processes) -> float:
    """Return the seconds until a request is begun that is answered whole."""
    started = time.perf_counter()
    async with browser(heddle.url, timeout=PATIENCE) as client:
        while True:
            begun = time.perf_counter()
            try:
                if await _ask(client) == "answer":
                    return begun - started
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)
