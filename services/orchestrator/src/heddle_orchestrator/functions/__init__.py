"""Function calls: the model calls functions of its assistant until it answers.

`tool_declarations` lists the functions, `tool_loop` runs the loop, `model_turn` collects the calls
of one round, `tool_results` returns their results to the model, `budget` limits the run, and
`tool_choice` applies the client's options.
"""

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.connector.v1 import connector_pb2
from heddle_runtime.identity.grants import carrying

from heddle_orchestrator.functions.budget import Budget
from heddle_orchestrator.functions.tool_declarations import ToolCatalog
from heddle_orchestrator.functions.tool_loop import Generate, ToolLoop
from heddle_orchestrator.tools.bindings import BoundTool, stop_on_failure
from heddle_orchestrator.tools.execution import Events, ToolRun, finished

__all__ = ["Functions", "Generate", "Limits", "ToolCatalog"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run with function calls."""

    rounds: int
    """The number of rounds of calls, unless the assistant sets a limit."""
    seconds: float
    tokens: int
    prompt_chars: int
    """The longest prompt."""

    def budget(self, assistant: Assistant, max_seconds: float = math.inf) -> Budget:
        """Return the budget of a run, whose functions get at most `max_seconds`."""
        rounds = assistant.max_tool_rounds or self.rounds
        return Budget(rounds, min(self.seconds, max_seconds), self.tokens)


@dataclass(frozen=True, slots=True)
class Functions:
    """Lets models call the functions of their assistants."""

    catalog: ToolCatalog
    limits: Limits

    def generate_with_tools(
        self, generate: Generate, run: ToolRun, bound: Sequence[BoundTool], called: list[BoundTool]
    ) -> Generate:
        """Return a function that asks the model and lets it call functions.

        Args:
            generate: Sends one request to the model.
            run: Runs the tools.
            bound: The bindings that the model may call.
            called: Collects every call with its outcome.
        """

        async def answer(
            request: connector_pb2.GenerateWholeMessageRequest,
        ) -> AsyncGenerator[Events]:
            assistant = run.request.assistant
            taken = [function.name for function in request.generation.functions]
            own, extra = [b for b in bound if not b.extra], [b for b in bound if b.extra]
            with carrying(run.request.grant):
                tools = await self.catalog.declarations(assistant, own, taken, run.context)
            if run.extra is not None:
                taken += tools.by_name
                client = run.extra.assistant
                tools += await self.catalog.declarations(client, extra, taken, run.context)
            stop_on_failure(tools.failed)
            if incomplete := [*tools.failed, *tools.held_back]:
                yield [finished(each) for each in incomplete]
            budget, max_chars = self.limits.budget(assistant), self.limits.prompt_chars
            loop = ToolLoop(generate, run, tools, budget, max_chars, called)
            async with aclosing(loop.events(request)) as batches:
                async for events in batches:
                    yield events

        return answer
