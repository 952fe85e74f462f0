"""Functions that a tool offers to models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heddle_tools_service.sdk.calls import Effect


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a tool, as models see it."""

    name: str
    description: str
    schema: dict[str, Any]
    """The JSON Schema (2020-12) of the arguments."""
    parse: Callable[[dict[str, Any]], Any]
    """Converts arguments that match the schema to `ToolCall.arguments`."""
    effect: Effect | None = None
    """What a call can change. None: as the tool declares."""


@dataclass(frozen=True, slots=True)
class HeldBackFunction:
    """A function of another server that models cannot see until the author accepts it."""

    name: str
    """The server's name for it."""
    description: str
    schema: Mapping[str, Any]
    pin: str
    """The pin that accepts its current form. Empty if it cannot be accepted."""
    reason: str
    """Why it is held back and what to do. Contains no text of the server except the name."""


@dataclass(frozen=True, slots=True)
class FunctionOffer:
    """The functions of a tool whose functions depend on its configuration."""

    functions: Sequence[Function] = ()
    held_back: Sequence[HeldBackFunction] = ()


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """`ToolCall.arguments` of a tool whose functions depend on its configuration."""

    name: str
    arguments: dict[str, Any]
    """The model's arguments. Unchecked: the tool checks them."""
