"""Who decides in a run."""

from pathlib import Path

from heddle_orchestrator.agent.decision import Decider
from heddle_orchestrator.agent.label import Label
from heddle_orchestrator.agent.native import Native
from heddle_orchestrator.agent.programs import Dspy
from heddle_orchestrator.agent.rules import Rules

_LOCAL = "local"
_MOST_PROBABLE = 20
"""What OpenAI takes; our own engine tells more, and must not end before it begins."""
_OF_OUR_ENGINE = {"ignore_eos": True}
_MOST_OF_OUR_ENGINE = 200
_LONGEST_CALL = 120
"""Tokens, of a model that could ramble for a minute."""


class Deciders:
    """The deciders of a service, which its runs share: they know nothing of any run."""

    def __init__(self, program: Path | None) -> None:
        """Make them.

        Args:
            program: The compiled prompt of the decider `dspy`, None for its plain one.
        """
        self._by_name: dict[str, Decider] = {
            each.name: each
            for each in (Rules(), Native(), Label(_MOST_PROBABLE, {}), Dspy(program))
        }
        ours: tuple[Decider, ...] = (
            Native(_LONGEST_CALL),
            Label(_MOST_OF_OUR_ENGINE, _OF_OUR_ENGINE),
        )
        self._embedded = self._by_name | {each.name: each for each in ours}

    def of(self, name: str, connector: str) -> Decider:
        """Return a decider.

        Args:
            name: As in `DECIDERS`; empty for the one that suits the connector.
            connector: Of the assistant's model.
        """
        wanted = name or (Label.name if connector == _LOCAL else Native.name)
        return (self._embedded if connector == _LOCAL else self._by_name)[wanted]
