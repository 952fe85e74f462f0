"""The decorator that makes a function a tool."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Concatenate, get_args

from heddle_runtime.contract.frontend_payloads import ToolOutput
from pydantic import BaseModel
from typing_extensions import TypeVar

from heddle_tools_service.sdk.calls import CALLED, EFFECTS, Effect, Mode, OfferContext, ToolCall
from heddle_tools_service.sdk.models import (
    NoOptions,
    Query,
    ToolArguments,
    ToolConfig,
    arguments_schema,
    schema_of,
)
from heddle_tools_service.sdk.results import ToolResult
from heddle_tools_service.sdk.routing import Example, Trigger

ModelT = TypeVar("ModelT", bound=ToolConfig)
BaseT = TypeVar("BaseT", bound=BaseModel)


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


Translations = Mapping[str, Mapping[str, str]]
"""The translations of English texts, by language."""
Outcome = ToolResult | Awaitable[ToolResult] | AsyncIterator[ToolOutput]
"""The return value of a tool's function."""
Run = Callable[Concatenate[ToolCall[Any, Any], ...], Outcome]
Offer = Callable[Concatenate[ToolCall[Any, Any], ...], Awaitable[FunctionOffer]]
Available = Callable[Concatenate[ToolCall[Any, Any], ...], Awaitable[bool]]
Triggered = Callable[Concatenate[ToolCall[Any, Any], ...], Awaitable[Trigger | None]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, as the registry stores it. The decorator `tool` creates it."""

    name: str
    title: str
    description: str
    slot: str
    schema: dict[str, Any]
    """The JSON Schema (2020-12) of the configuration."""
    parse: Callable[[dict[str, Any]], Any]
    """Converts a configuration that matches the schema to `ToolCall.config`."""
    run: Run
    category: str = "custom"
    version: str = "1.0"
    modes: tuple[Mode, ...] = ("augment",)
    module: str = ""
    """The module that defines the tool."""
    function: Function | None = None
    """None if models cannot call it, or if it has `offer`."""
    offer: Offer | None = None
    """Returns the functions for models, if they depend on the configuration."""
    enabled: Callable[[OfferContext[Any]], bool] | None = None
    """Returns whether models may call it. None if they always may."""
    available: Available | None = None
    """Checks whether the tool is useful now. None if it always is."""
    trigger: Triggered | None = None
    """Returns a `Trigger` if the routing agent must run it now. None if never."""
    end: bool = False
    """Whether a run of the routing agent ends with it."""
    examples: tuple[Example, ...] = ()
    label: str = ""
    """A short name, for badges. Empty: the title."""
    translations: Translations = field(default_factory=dict)
    """The translations of titles, descriptions and the label, by language."""
    obstacle: str = ""
    """Why the tool cannot be called in this installation, and the remedy. Empty if it can."""
    effect: Effect | None = None
    """What a call can change outside of the answer. None: nothing if the tool is one of Heddle's,
    else anything."""

    @property
    def blocking(self) -> bool:
        """Whether the function runs in a thread."""
        run = self.run
        return not (inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run))


def tool(  # noqa: PLR0913 - what a definition says, each by its name
    name: str,
    *,
    title: str,
    function: str = "",
    offer: Offer | None = None,
    slot: str = "context",
    category: str = "custom",
    version: str = "1.0",
    modes: tuple[Mode, ...] = ("augment",),
    enabled: Callable[[OfferContext[ModelT]], bool] | None = None,
    available: Available | None = None,
    trigger: Triggered | None = None,
    end: bool = False,
    examples: Sequence[Example] = (),
    label: str = "",
    translations: Translations | None = None,
    effect: Effect | None = None,
) -> Callable[[Callable[Concatenate[ToolCall[ModelT, Any], ...], Outcome]], Tool]:
    """Make a `Tool` of a function; the first line of its docstring is the tool's description.

    The annotation of its first parameter, `ToolCall[Config, Arguments]`, names the class of options
    for the assistant's author, and the class of arguments for a model that calls the tool. The
    defaults are no options, and `Query`.

    Args:
        name: The unique name, `[a-z][a-z0-9_]{0,62}`.
        title: The name shown to people.
        function: The name of the function for models. By default: `name`.
        offer: Returns the functions for a configuration. `function` then has no effect, and the
            arguments are a `CalledFunction`.
        slot: The template slot that is filled when a binding names none.
        category: `rag`, `rubric`, `teaching`, `file`, `utilities`, `lms`, `development` or
            `custom`, for lists. `legacy` is
            for tools of older formats.
        version: A version, for people.
        modes: The ways in which the tool can be bound.
        enabled: Returns whether models may call the tool. By default: always. The service calls it
            when it offers functions and again when a model calls one, so it must be quick.
        available: Returns whether the tool is useful now. By default: always. The service calls it
            when it offers functions, and before each decision of the routing agent, whose state is
            in `ToolCall.tree`; `ToolCall.arguments` is None. It raises `ToolError` to say why not,
            or `ToolUnavailableError` for a failure, which is reported to users.
        trigger: Returns the `Trigger` with which the routing agent must run the tool now. By
            default, and where it returns None, the agent decides.
        end: Whether a run of the routing agent ends with the tool: its text is the answer.
        examples: Requests that suit the tool. The agent shows them to models that decide.
        label: A short name for badges, at most 24 characters. By default: the title.
        translations: By language, the translation of each title, description and label, by the
            English text: `{"es": {"Weather": "Tiempo"}}`. Texts without one stay English.
        effect: What a call can change outside of the answer: nothing (`read_only`), something that
            can be undone (`non_destructive`), or anything (`destructive`, the default). Unless the
            author of the assistant decides otherwise, users must confirm destructive calls.

    Raises:
        TypeError: The annotation names other classes.
        ValueError: There is no such effect.
    """
    if effect is not None and effect not in EFFECTS:
        raise ValueError(f"The effect of {name!r} is {effect!r}; use {', '.join(EFFECTS)}.")

    def decorate(run: Callable[Concatenate[ToolCall[ModelT, Any], ...], Outcome]) -> Tool:
        description, _, _ = (run.__doc__ or "").strip().partition("\n")
        config, arguments = _annotated(run)
        options = _class(ToolConfig, config, NoOptions, name)
        taken = Query if offer else _class(ToolArguments, arguments, Query, name)
        offered = Function(
            function or name, description, arguments_schema(taken), taken.model_validate
        )
        return Tool(
            name,
            title,
            description,
            slot,
            schema_of(options),
            options.model_validate,
            run,
            category,
            version,
            modes,
            run.__module__,
            offered if CALLED & set(modes) and offer is None else None,
            offer,
            enabled,
            available,
            trigger,
            end,
            tuple(examples),
            label,
            translations or {},
            effect=effect,
        )

    return decorate


def _annotated(run: Run) -> tuple[object, object]:
    """Return `Config` and `Arguments` of `ToolCall[Config, Arguments]`; `Any` if missing."""
    try:
        signature = inspect.signature(run, eval_str=True)
    except (NameError, TypeError, SyntaxError, AttributeError):  # texts that name nothing
        signature = inspect.signature(run)
    call = next((each.annotation for each in signature.parameters.values()), Any)
    config, arguments, *_ = *get_args(call), Any, Any
    return config, arguments


def _class(base: type[BaseT], annotation: object, default: type[BaseT], tool: str) -> type[BaseT]:
    """Return the class that an annotation names, also as `Class | None`."""
    members = get_args(annotation) or (annotation,)
    [named, *_] = [each for each in members if each not in {None, NoneType, Any}] or [default]
    if isinstance(named, type) and issubclass(named, base):
        return named
    message = f"The ToolCall of the tool {tool!r} names {named!r}: name a class that derives from "
    raise TypeError(message + base.__name__)
