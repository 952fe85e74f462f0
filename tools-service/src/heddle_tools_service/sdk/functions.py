"""What a model sees of a tool."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Function:
    """What a model sees of a tool."""

    name: str
    description: str
    schema: dict[str, Any]
    """The JSON Schema (2020-12) of the arguments."""
    parse: Callable[[dict[str, Any]], Any]
    """Makes of arguments that fit the schema what `ToolCall.arguments` is."""


@dataclass(frozen=True, slots=True)
class HeldBackFunction:
    """A function of somebody else's that models are not told of until somebody accepts it."""

    name: str
    """What its server calls it."""
    description: str
    schema: Mapping[str, Any]
    pin: str
    """What accepts it as it is now. Empty if nothing can."""
    reason: str
    """Why it is held back and what to do, without a word of the server's but the name."""


@dataclass(frozen=True, slots=True)
class FunctionOffer:
    """What a tool whose functions hang on its configuration offers to a model."""

    functions: Sequence[Function] = ()
    held_back: Sequence[HeldBackFunction] = ()


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """What `ToolCall.arguments` is of a tool whose functions hang on its configuration."""

    name: str
    arguments: dict[str, Any]
    """What the model wrote. Not checked: the tool does that."""
