"""The routing agent: an assistant that decides for itself which tools to use, and always answers.

`state` and `environment` are what one run knows, `assessing` asks which tools can be chosen now,
`decision` is the interface of those who decide (`rules` by the selection `matrix`, `native`,
`label`, `dspy`), `validation` and `guard` check what they choose, `policy` is what is not left to
them, `responses` and `summary` are the tools of every run; `loop` is the loop over all of it.
"""

import secrets
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from heddle_runtime.call_metadata import remaining

from heddle_orchestrator.agent import asking
from heddle_orchestrator.agent.asking import QueryWorkers
from heddle_orchestrator.agent.deciders import Deciders
from heddle_orchestrator.agent.loop import Loop
from heddle_orchestrator.agent.responses import Generate, Order, TextResponse
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.execution import Events, ToolRun
from heddle_orchestrator.functions import Limits
from heddle_orchestrator.functions.budget import Budget

_LOCAL = "local"
_CHARS_PER_TOKEN = 3
_LOCAL_CHARS = 6_000
"""Of what was found, for a model that reads 4,096 tokens."""
_PART = 2
"""The search takes at most this part of the time that a run has left."""

__all__ = ["Agents", "Route"]


@dataclass(frozen=True, slots=True)
class Route:
    """What one run chooses among, and what becomes of it."""

    bound: Sequence[Bound]
    """The bindings that can be chosen."""
    called: list[Bound]
    """Gets every tool that ran, and its outcome."""
    state: State
    """Of a run that begins. Gets what is found."""


@dataclass(frozen=True, slots=True)
class Agents:
    """Lets assistants choose their tools."""

    deciders: Deciders
    limits: Limits
    context_tokens: int
    """Of what was found, in the prompt of the answer."""

    async def answering(
        self,
        order: Order,
        *,
        decider: str,
        ask: asking.Generate,
        generate: Generate,
        run: ToolRun,
        route: Route,
    ) -> AsyncGenerator[Events]:
        """Yield what happens until there is an answer.

        Args:
            order: What the model would be asked without an agent. Is changed.
            decider: Who decides; empty for the default of the assistant's connector.
            ask: Asks the assistant's model quietly, for decisions.
            generate: Lets it answer.
            run: Runs the tools.
            route: The tools, and the state of the run.
        """
        assistant = run.request.assistant
        budget = Budget(
            rounds=assistant.max_tool_rounds or self.limits.rounds,
            seconds=min(self.limits.seconds, remaining(run.context) / _PART),
            tokens=self.limits.tokens,
        )
        query_id = secrets.token_hex(8)
        connector = assistant.model.connector
        most = min(self.context_tokens * _CHARS_PER_TOKEN, self.limits.prompt_chars // 2)
        if connector == _LOCAL:
            most = min(most, _LOCAL_CHARS)
        loop = Loop(
            run=run,
            bound=route.bound,
            decider=self.deciders.of(decider, connector),
            asking=QueryWorkers(assistant, run.context, ask, budget),
            response=TextResponse(generate, query_id, most),
            budget=budget,
            state=route.state,
            most_chars=_LOCAL_CHARS if connector == _LOCAL else self.limits.prompt_chars,
            called=route.called,
        )
        events = loop.events(order)
        try:
            async for happened in events:
                yield happened
        finally:
            await events.aclose()
