"""The data that tools exchange with the routing agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolObjects:
    """The objects of one run of one tool."""

    tool: str
    name: str
    objects: tuple[dict[str, Any], ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True, slots=True)
class FailedTool:
    """The failure of the last run of a tool."""

    tool: str
    message: str
    recoverable: bool = False
    """Whether the same call may succeed later."""
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Environment:
    """The results of the tools of this run so far, as a copy."""

    results: tuple[ToolObjects, ...] = ()
    errors: tuple[FailedTool, ...] = ()
    """The errors of the tools whose last run failed."""
    tokens: int = 0

    def find(self, tool: str, name: str = "") -> tuple[dict[str, Any], ...]:
        """Return the objects that a tool found, under one name or under all. Empty if none."""
        return tuple(
            each
            for results in self.results
            if results.tool == tool and name in ("", results.name)
            for each in results.objects
        )

    def is_empty(self) -> bool:
        """Return whether no tool has found any object."""
        return not any(results.objects for results in self.results)

    def estimate_tokens(self) -> int:
        """Return about how many tokens a model would read if it read all objects."""
        return self.tokens


@dataclass(frozen=True, slots=True)
class PastRun:
    """A tool that ran earlier in the run."""

    tool: str
    inputs: dict[str, Any]
    new_objects: int
    """The number of objects that it found and that were not known before."""
    failed: bool


@dataclass(frozen=True, slots=True)
class TreeData:
    """The state of a run of the routing agent."""

    user_prompt: str = ""
    num_iterations: int = 0
    """The number of decisions that were carried out so far."""
    environment: Environment = Environment()
    history: tuple[PastRun, ...] = ()
    """Oldest first."""
    query: str = ""
    """The query for searches: `user_prompt`, preceded by earlier questions to which it refers."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A request to run a tool now, without a decision of the router."""

    inputs: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of the run; missing ones have their defaults."""
    cause: str = ""
    """The cause of the run. Within a run of the agent, one cause triggers a tool once."""


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a request that suits a tool."""

    request: str
    """The words of a user."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The arguments with which the tool is then called."""
