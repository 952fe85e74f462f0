"""What makes a function a tool."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate

from heddle_runtime.frontend_payloads import ToolOutput
from typing_extensions import TypeVar

from heddle_tools_service.models import (
    NoOptions,
    Query,
    ToolArguments,
    ToolConfig,
    arguments_schema,
    schema_of,
)
from heddle_tools_service.routing import Example, Trigger
from heddle_tools_service.sdk.calls import CALLED, Mode, OfferContext, ToolCall
from heddle_tools_service.sdk.functions import Function, FunctionOffer
from heddle_tools_service.sdk.results import ToolResult
from heddle_tools_service.translations import Translations

ModelT = TypeVar("ModelT", bound=ToolConfig)
Outcome = ToolResult | Awaitable[ToolResult] | AsyncIterator[ToolOutput]
"""What a tool's function gives back."""
Run = Callable[Concatenate[ToolCall[Any, Any], ...], Outcome]
Offer = Callable[Concatenate[ToolCall[Any, Any], ...], Awaitable[FunctionOffer]]
Available = Callable[Concatenate[ToolCall[Any, Any], ...], Awaitable[bool]]
Triggered = Callable[Concatenate[ToolCall[Any, Any], ...], Awaitable[Trigger | None]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the registry knows it. Made with the `tool` decorator."""

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
    """Where the tool is defined."""
    function: Function | None = None
    """None if models cannot call it, or if it has `offer`."""
    offer: Offer | None = None
    """Returns the functions for models, if they depend on the configuration."""
    enabled: Callable[[OfferContext[Any]], bool] | None = None
    """Whether models may call it. None if always."""
    available: Available | None = None
    """Whether it is useful now. None if always."""
    trigger: Triggered | None = None
    """Whether the routing agent must run it now. None if never."""
    end: bool = False
    """Whether a run of the routing agent ends with it."""
    examples: tuple[Example, ...] = ()
    label: str = ""
    """A short name, for badges. Empty: the title."""
    translations: Translations = field(default_factory=dict)
    """By language, the translations of titles and descriptions, and of the label."""
    obstacle: str = ""
    """Why it can never be called as the service is set up, and the remedy. Empty if it can."""

    @property
    def blocking(self) -> bool:
        """Whether the function runs in a thread."""
        run = self.run
        return not (inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run))


def tool(  # noqa: PLR0913 - what a definition says, each by its name
    name: str,
    *,
    title: str,
    config: type[ModelT] = NoOptions,  # type: ignore[assignment] # a type variable takes no default
    arguments: type[ToolArguments] | None = None,
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
) -> Callable[[Callable[Concatenate[ToolCall[ModelT, Any], ...], Outcome]], Tool]:
    """Make a `Tool` of a function; the first line of its docstring is the tool's description.

    Args:
        name: The unique name, `[a-z][a-z0-9_]{0,62}`.
        title: The name shown to people.
        config: What an assistant's author can set. Without it: nothing.
        arguments: What a model that calls the tool fills in. Without it: `Query`.
        function: What the tool is called by a model. Without it: `name`.
        offer: Tells the functions under a configuration; `arguments` and `function` mean nothing
            then, and the tool's function gets a `CalledFunction` as its arguments.
        slot: The template slot that is filled when a binding names none.
        category: `rag`, `rubric`, `file`, `utilities`, `lms` or `custom`, for lists. `legacy` is
            for tools of older formats.
        version: For people.
        modes: The ways in which the tool can be bound.
        enabled: Whether models may call it on an occasion. Without it: always. It is asked when
            functions are offered and again when one is called, so it must be quick.
        available: Whether it is of use now, asked when functions are offered and by the routing
            agent before each decision, which it tells its state in `ToolCall.tree`;
            `ToolCall.arguments` is None. It raises `ToolError` to say why not, and
            `ToolUnavailableError` if that is a failure, which users are told. Without it: always.
        trigger: What the routing agent must run it with now, without deciding so. Without it, and
            where it returns None, the agent decides.
        end: Whether a run of the routing agent ends with it: its text is the answer.
        examples: Requests that it is right for, which the agent shows models when they decide.
        label: A short name for badges, at most 24 characters. Without it: the title.
        translations: By language, the translation of each title, description and label, by the
            English text: `{"es": {"Weather": "Tiempo"}}`. Texts without one stay English.

    Raises:
        TypeError: `config` or `arguments` is something else than such a class.
    """
    _require(ToolConfig, config, f"config of the tool {name!r}")
    if arguments is not None:
        _require(ToolArguments, arguments, f"arguments of the tool {name!r}")

    def decorate(run: Callable[Concatenate[ToolCall[ModelT, Any], ...], Outcome]) -> Tool:
        description, _, _ = (run.__doc__ or "").strip().partition("\n")
        taken = arguments or Query
        offered = Function(
            function or name, description, arguments_schema(taken), taken.model_validate
        )
        return Tool(
            name,
            title,
            description,
            slot,
            schema_of(config),
            config.model_validate,
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
        )

    return decorate


def _require(base: type, value: object, what: str) -> None:
    if not (isinstance(value, type) and issubclass(value, base)):
        message = f"The {what} must be a class that derives from {base.__name__}"
        raise TypeError(message)
