"""The routing agent: an assistant that chooses its own tools and always answers.

`routing_loop` runs the loop. `availability` asks which tools are available, a router (`decision`,
`routers`) chooses among them, `validation`, `repeat_detection` and `policy` check the choice, and
`environment` stores the results. `responses` and `summary` are the built-in tools.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from heddle_runtime.identity.call_metadata import remaining

from heddle_orchestrator.agent.model_client import ModelClient
from heddle_orchestrator.agent.responses import TextResponse
from heddle_orchestrator.agent.routers.registry import LOCAL_CONNECTOR, Routers
from heddle_orchestrator.agent.routing_loop import RoutingLoop
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.functions import Generate, Limits
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import ToolRun

_CHARS_PER_TOKEN = 3
_MAX_LOCAL_CHARS = 6_000
"""The maximum length of the results in a prompt for a model with a context of 4,096 tokens."""
_TIME_SHARE = 2
"""The search may take half of the time that is left for the run."""

__all__ = ["Agents", "Route"]


@dataclass(frozen=True, slots=True)
class Route:
    """The tools and the state of one run, and the collector of its outcomes."""

    bound: Sequence[BoundTool]
    """The bindings that can be chosen."""
    called: list[BoundTool]
    """Collects every tool that ran, with its outcome."""
    state: State
    """The initial state. Collects the results."""
    empty_response: str = ""
    """The answer if nothing usable is found. Empty: the model answers."""


@dataclass(frozen=True, slots=True)
class Agents:
    """Runs agents."""

    routers: Routers
    limits: Limits
    context_tokens: int
    """The limit, in tokens, of the results in the prompt of the answer."""

    def loop(
        self, router: str, run: ToolRun, route: Route, *, ask: Generate, generate: Generate
    ) -> RoutingLoop:
        """Return the loop of a run.

        Args:
            router: The router's name; empty for the default of the assistant's connector.
            run: Runs the tools.
            route: The tools, and the state of the run.
            ask: Sends requests to the assistant's model for decisions.
            generate: Streams the answer.
        """
        assistant = run.request.assistant
        budget = self.limits.budget(assistant, remaining(run.context) / _TIME_SHARE)
        connector = assistant.model.connector
        local = connector == LOCAL_CONNECTOR
        max_chars = min(self.context_tokens * _CHARS_PER_TOKEN, self.limits.prompt_chars // 2)
        if local:
            max_chars = min(max_chars, _MAX_LOCAL_CHARS)
        return RoutingLoop(
            run=run,
            bound=route.bound,
            router=self.routers.get(router, connector),
            model=ModelClient(assistant, run.context, ask, budget),
            response=TextResponse(generate, secrets.token_hex(8), max_chars, small=local),
            budget=budget,
            state=route.state,
            max_prompt_chars=_MAX_LOCAL_CHARS if local else self.limits.prompt_chars,
            called=route.called,
            empty_response=route.empty_response,
        )
