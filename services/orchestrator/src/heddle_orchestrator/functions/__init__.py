"""Functions: what a model may call, running what it calls, and ending in an answer.

`offers` knows the functions of an assistant, `turn` what a model did in one round, `budget` when it
is enough, `choice` what the client wishes, `replies` what the model reads of its calls; `rounds` is
the loop over all of it.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from heddle.connector.v1 import connector_pb2

from heddle_orchestrator.bindings import Bound, stop_on_failure
from heddle_orchestrator.execution import Events, ToolRun, finished
from heddle_orchestrator.functions.budget import Budget
from heddle_orchestrator.functions.offers import Catalog
from heddle_orchestrator.functions.rounds import Generate, Rounds

__all__ = ["Catalog", "Functions", "Generate", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend on functions."""

    rounds: int
    """Of calls, where the assistant says nothing else."""
    seconds: float
    tokens: int
    prompt_chars: int
    """The longest prompt."""


@dataclass(frozen=True, slots=True)
class Functions:
    """Lets models call what assistants offer them."""

    catalog: Catalog
    limits: Limits

    def answering(
        self, generate: Generate, run: ToolRun, bound: Sequence[Bound], called: list[Bound]
    ) -> Generate:
        """Return a way of asking the model that lets it call functions.

        Args:
            generate: Asks the model once.
            run: Runs the tools.
            bound: The bindings that the model may call.
            called: Gets every call, and what became of it.
        """

        async def answer(
            order: connector_pb2.GenerateWholeMessageRequest,
        ) -> AsyncGenerator[Events]:
            assistant = run.request.assistant
            taken = [function.name for function in order.generation.functions]
            offers = await self.catalog.offers(assistant, bound, taken, run.context)
            stop_on_failure(offers.failed)
            if told := [*offers.failed, *offers.held_back]:
                yield [finished(each) for each in told]
            budget = Budget(
                rounds=assistant.max_tool_rounds or self.limits.rounds,
                seconds=self.limits.seconds,
                tokens=self.limits.tokens,
            )
            rounds = Rounds(generate, run, offers, budget, self.limits.prompt_chars, called)
            async with aclosing(rounds.events(order)) as happened:
                async for events in happened:
                    yield events

        return answer
