"""The conditions of the components of a service, which its checks of readiness report."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of a component."""

    problem: str = ""
    """The fault and its remedy, for operators."""
    ready: bool = True
    """Whether the service can work nevertheless."""
    external: bool = False
    """Whether the cause is outside of the installation, so that another replica cannot help."""
    summary: str = ""
    """The parts of the component, for operators."""


Check = Callable[[], Awaitable[Condition | None]]
"""Returns the condition of a component, None for a good one. A `HeddleError` means not ready."""
