"""Answers of providers with odd types, pieces, line ends and events lose nothing.

Each answer is a valid one that mutations change. What the mutations do not touch must arrive: all
text, all reasoning and the calls. An answer that ends with an error, or of which a part cannot be
read, is marked.
"""

import asyncio
import json
import random

import grpc
import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle_runtime.contract.unicode_text import valid_text
from heddle_runtime.errors import from_rpc
from runtime.examples import repetitions, sampled

from connector.mutations import anthropic, ollama, openai
from connector.mutations.answers import Answer, answer, parts_of
from connector.provider import Exchange, provider
from connector.service import Stub, as_whole, asked, responses, service

ANSWERS = repetitions(1000)
"""In each part."""
FORMS = {"openai": openai, "anthropic": anthropic, "ollama": ollama}
PARTS = sampled(range(7), 1)
"""Of each form."""
AT_ONCE = 16


def mutated(form: str, seed: int) -> tuple[Answer, list[bytes]]:
    """Return a mutated answer, and its bytes in the pieces in which they arrive.

    Of four answers two are streamed, one is a stream in reply to a request for a whole answer, and
    one is whole.
    """
    chance = random.Random(seed)  # noqa: S311 - a failure names the seed
    expected = answer(chance)
    write = FORMS[form].body if seed % 4 == 0 else FORMS[form].stream
    return expected, parts_of(write(expected, chance), chance)


async def problem(stub: Stub, form: str, seed: int) -> str:
    """Return what is wrong with an answer; empty if nothing is."""
    expected, _ = mutated(form, seed)
    whole = seed % 4 < 2
    functions = [chat.FunctionDeclaration(name=f"f{index}") for index in range(2)]
    request = asked(form, model=str(seed), functions=functions)
    events, reason = [], ""
    try:
        async for batch in responses(stub, as_whole(request) if whole else request, 30):
            events += batch
    except grpc.aio.AioRpcError as error:
        reason = from_rpc(error).reason
    if whole and expected.is_cut:
        return "" if reason else f"{form} {seed}: a whole answer that is cut has no error"
    calls = [
        (event.tool_call.name, json.loads(event.tool_call.arguments_json))
        for event in events
        if event.HasField("tool_call")
    ]
    received = {
        "text": "".join(event.text_delta for event in events),
        "reasoning": "".join(event.reasoning_delta for event in events),
        "marked": any(event.HasField("warning") for event in events),
        "error": bool(reason),
    }
    complete = {
        "text": valid_text(expected.text),
        "reasoning": valid_text(expected.reasoning),
        "marked": expected.is_damaged and not expected.is_cut,
        "error": expected.is_cut,
    }
    are_complete = len(calls) == len(expected.calls) or expected.is_cut
    if received == complete and are_complete and calls == expected.calls[: len(calls)]:
        return ""
    return f"{form} {seed}: {received}, {calls} is not {complete}, {expected.calls}"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", PARTS)
async def test_no_mutation_of_an_answer_loses_a_part_of_it(
    form: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(exchange: Exchange) -> None:
        seed = int(exchange.json["model"])
        _, parts = mutated(form, seed)
        exchange.begin("application/json" if seed % 4 == 0 else "text/event-stream")
        for piece in parts:
            await exchange.send(piece)
        await exchange.end()

    async with provider(script) as running:
        path = "/v1" if form == "openai" else ""
        monkeypatch.setenv(f"HEDDLE_CONNECTOR_{form.upper()}_BASE_URL", f"{running.url}{path}")
        monkeypatch.setenv("HEDDLE_CONNECTOR_TOOL_CALL_PARSERS", '{"*": []}')
        async with service(log_level="ERROR") as stub:
            problems = []
            first = part * ANSWERS
            for start in range(first, first + ANSWERS, AT_ONCE):
                seeds = range(start, min(start + AT_ONCE, first + ANSWERS))
                problems += await asyncio.gather(*(problem(stub, form, seed) for seed in seeds))
    assert not any(problems), "\n".join(filter(None, problems))
