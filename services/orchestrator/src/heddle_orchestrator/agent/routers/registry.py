"""The routers by name."""

from pathlib import Path

from heddle_orchestrator.agent.decision import Router
from heddle_orchestrator.agent.routers.dspy import DspyRouter
from heddle_orchestrator.agent.routers.label import LabelRouter
from heddle_orchestrator.agent.routers.native import NativeRouter
from heddle_orchestrator.agent.routers.rules import RulesRouter

LOCAL_CONNECTOR = "local"
_MAX_TOP_LOGPROBS = 20
"""The limit of OpenAI's API."""
_LOCAL_MAX_TOP_LOGPROBS = 200
_LOCAL_OPTIONS = {"ignore_eos": True}
"""The embedded engine must write one token even if it prefers to stop."""
_LOCAL_MAX_CALL_TOKENS = 120
"""The tokens of a function call. Without a limit, the embedded model may write for a minute."""


class Routers:
    """The routers of a service. All runs share them: they store nothing about a run."""

    def __init__(self, program: Path | None) -> None:
        """Create the routers.

        Args:
            program: The compiled prompt of the router `dspy`, None for its plain one.
        """
        general: tuple[Router, ...] = (
            RulesRouter(),
            NativeRouter(),
            LabelRouter(_MAX_TOP_LOGPROBS, {}),
            DspyRouter(program),
        )
        local: tuple[Router, ...] = (
            NativeRouter(_LOCAL_MAX_CALL_TOKENS, writes_arguments=False),
            LabelRouter(_LOCAL_MAX_TOP_LOGPROBS, _LOCAL_OPTIONS),
        )
        self._by_name = {each.name: each for each in general}
        self._local = self._by_name | {each.name: each for each in local}

    def get(self, name: str, connector: str) -> Router:
        """Return a router.

        Args:
            name: `rules`, `native`, `label` or `dspy`; empty for the connector's default.
            connector: Of the assistant's model.
        """
        if connector == LOCAL_CONNECTOR:
            return self._local[name or LabelRouter.name]
        return self._by_name[name or NativeRouter.name]
