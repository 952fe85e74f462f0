"""Two orchestrators record for the same assistants, answers to them get lost, others read."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from assistants.replicas import Replica, replica
from assistants.serving import ADA, SERVICE, Caller
from assistants.stored import keep_many
from heddle.assistant.v1 import assistant_pb2_grpc
from heddle.chat.v1.chat_pb2 import Usage
from heddle.orchestrator.v1 import orchestrator_pb2_grpc
from heddle.orchestrator.v1.orchestrator_pb2 import RunWholeCompletionRequest
from heddle.usage.v1 import usage_pb2_grpc
from heddle.usage.v1.usage_pb2 import Counts
from heddle_assistants.database.schema import organizations
from heddle_runtime.errors import UnavailableError
from heddle_runtime.serving.server import bind
from heddle_runtime.storage.database.engine import Database
from orchestrator.harness import Harness, ask, done, orchestrating, serving
from runtime.examples import mostly_on, repetitions
from sqlalchemy import update

RUNS = repetitions(120)
"""Of each orchestrator, for each assistant."""
NUMBERS = ("1", "2", "3")
TOKENS = Usage(prompt_tokens=7, cached_tokens=2, completion_tokens=3)
PRICES = {"scripted/*": {"input": 0.5, "output": 2}, "openai/*": {"input": 0.5, "output": 2}}
METADATA = json.dumps({"connector": "openai", "llm": "m", "rag_processor": "no_rag"})


class Losing(assistant_pb2_grpc.AssistantServiceServicer, usage_pb2_grpc.UsageServiceServicer):
    """Hands calls on, and loses every second answer about usage."""

    def __init__(self, behind: Caller) -> None:
        self._behind = behind
        self._numbers = itertools.count()

    async def GetAssistant(self, request: Any, context: Any) -> Any:
        return await self._behind.ask(self._behind.assistants.GetAssistant, request)

    async def ReserveUsage(self, request: Any, context: Any) -> Any:
        return await self._behind.ask(self._behind.usage.ReserveUsage, request)

    async def RecordUsage(self, request: Any, context: Any) -> Any:
        answer = await self._behind.ask(self._behind.usage.RecordUsage, request)
        if next(self._numbers) % 2:
            raise UnavailableError("The answer was lost.")
        return answer


@asynccontextmanager
async def recording(service: Replica) -> AsyncIterator[Harness]:
    """Run an orchestrator whose word the service has, but that hears only half of its answers."""
    losing = Losing(service.as_(SERVICE))  # type: ignore[abstract] # what an orchestrator asks
    async with (
        serving(
            bind(assistant_pb2_grpc.add_AssistantServiceServicer_to_server, losing),
            bind(usage_pb2_grpc.add_UsageServiceServicer_to_server, losing),
            secret=None,
        ) as address,
        orchestrating(
            assistants_address=address,
            usage_flush_seconds=0.01,
            assistant_cache_seconds=0.05,
        ) as bench,
    ):
        bench.connector.batches = [[done(TOKENS)]]
        yield bench


async def answer(bench: Harness, number: str) -> None:
    """Let an assistant answer again and again."""
    stub = orchestrator_pb2_grpc.OrchestratorServiceStub(bench.orchestrator)
    for _ in range(RUNS):
        await stub.RunWholeCompletion(RunWholeCompletionRequest(run=ask(number)), timeout=30)


async def read(caller: Caller, over: asyncio.Event) -> int:
    """Read what is kept until it is over; what was read once never gets less."""
    reads = 0
    known = dict.fromkeys(NUMBERS, 0)
    while not over.is_set():
        for number in NUMBERS:
            used = await caller.used(number)
            requests = sum(model.counts.requests for model in used.models)
            assert requests >= known[number]
            known[number] = requests
            reads += 1
        assert len((await caller.all_used()).assistants) <= len(NUMBERS)
    return reads


@pytest.mark.exhaustive
@mostly_on("dialect", "postgresql", "sqlite")
@pytest.mark.timeout(240)
async def test_sums_are_exact_whoever_records_and_whatever_is_lost(
    database_url: str, database: Database, tmp_path: Path
) -> None:
    await keep_many(database, [{"name": f"a{each}", "metadata": METADATA} for each in NUMBERS])
    config = json.dumps({"setups": {"default": {"prices": PRICES}}})
    async with database.writing() as connection:
        await connection.execute(update(organizations).values(config=config))
    over = asyncio.Event()
    async with AsyncExitStack() as exits:
        services = [
            await exits.enter_async_context(replica(database_url, tmp_path / f"{side}.log"))
            for side in "ab"
        ]
        readers = [asyncio.create_task(read(each.as_(ADA), over)) for each in services]
        async with AsyncExitStack() as orchestrators, asyncio.TaskGroup() as tasks:
            for service in services:
                bench = await orchestrators.enter_async_context(recording(service))
                for number in NUMBERS:
                    tasks.create_task(answer(bench, number))
        over.set()
        reads = await asyncio.gather(*readers)
        used = [await services[0].as_(ADA).used(number) for number in NUMBERS]

    assert min(reads) > 0
    for found in used:
        [model] = found.models
        assert model.counts == Counts(
            requests=2 * RUNS,
            prompt_tokens=2 * RUNS * 7,
            cached_tokens=2 * RUNS * 2,
            completion_tokens=2 * RUNS * 3,
        )
        assert found.cost_micros == 2 * RUNS * 19 // 2  # 7 x 0.5 + 3 x 2 each
