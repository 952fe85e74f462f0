"""What tests of tools that a model calls share: the model inside, the service, and the call."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from heddle.tool.v1 import tool_pb2 as pb
from heddle_knowledge.document_queries.query_workers import QueryWorkers
from heddle_knowledge.store import KnowledgeStore
from heddle_tools_service.sdk import ToolUnavailableError
from knowledge.serving import knowledge_stub
from tools_service.serving import Client, discovering, invocation, serving


class Writer:
    """A small model that says what it was told to say, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, prompt: str, /, *, timeout: float, max_tokens: int) -> str:
        self.asked.append(prompt)
        if not self.answers:
            raise ToolUnavailableError("The small model gave no answer.")
        return self.answers.pop(0)


@asynccontextmanager
async def asking(
    store: KnowledgeStore, model: Writer | None = None, queries: QueryWorkers | None = None
) -> AsyncGenerator[Client]:
    """Run the service over a store; tests may share the processes for `queries`."""
    async with (
        knowledge_stub(store, queries=queries) as knowledge,
        serving(
            discovering(None), knowledge=knowledge, small_model=model, default_timeout=60
        ) as client,
    ):
        yield client


async def called(
    client: Client,
    tool: str,
    config: Mapping[str, Any],
    context: pb.RunContext | None = None,
    /,
    **arguments: str,
) -> pb.ToolEvent:
    """Return the end of a model's call."""
    made = invocation("1", tool, config)
    made.function_call.CopyFrom(pb.FunctionCall(name=tool, arguments_json=json.dumps(arguments)))
    batches = await client.run_all([made], context, seconds=100)
    return [event for batch in batches for event in batch][-1]
