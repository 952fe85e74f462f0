"""The installed tools. They are loaded at start only: a request names a tool."""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import structlog
from google.protobuf.json_format import SerializeToJsonError
from google.protobuf.struct_pb2 import Struct
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import InvalidRequestError, NotFoundError, Violation
from heddle_runtime.serving.plugins import Plugins, Problem, discover

from heddle_tools_service import tools
from heddle_tools_service.adapters import tools_in
from heddle_tools_service.adapters.formats import make_importable
from heddle_tools_service.agent_run_state import examples_of
from heddle_tools_service.capability_injection import Capabilities
from heddle_tools_service.change_policy import EFFECTS
from heddle_tools_service.conversation import Conversation
from heddle_tools_service.definitions import check
from heddle_tools_service.function_calls import WRONG_ARGUMENTS, declaration, members_of
from heddle_tools_service.schemas import CompiledSchema
from heddle_tools_service.sdk import (
    CalledFunction,
    FunctionOffer,
    Mode,
    OfferContext,
    Tool,
    ToolCall,
    Trigger,
)
from heddle_tools_service.sdk.definition import Outcome
from heddle_tools_service.translations import builtin_translations, translated
from heddle_tools_service.validation_errors import ARGUMENTS, REQUIRED, listed
from heddle_tools_service.workers.tools import PluginTool

log = structlog.get_logger(__name__)
ENTRY_POINTS = "heddle.tools"
KIND = "tool"
NO_CAPABILITIES = Capabilities()
_MAX_NAME_CHARS = 80
_MODES: dict[Mode, assistant_pb2.Mode.ValueType] = {
    "augment": assistant_pb2.MODE_AUGMENT,
    "function": assistant_pb2.MODE_FUNCTION,
    "agent": assistant_pb2.MODE_AGENT,
}


@dataclass(frozen=True, slots=True)
class Installed:
    """A tool, ready to be described, configured and run."""

    tool: Tool
    configs: CompiledSchema
    arguments: CompiledSchema | None
    """None if models cannot call the tool."""
    run: Callable[[ToolCall[Any, Any]], Outcome]
    """The tool's function. Capabilities are bound to it, as to the callbacks that follow."""
    offer: Callable[[ToolCall[Any, Any]], Awaitable[FunctionOffer]] | None
    available: Callable[[ToolCall[Any, Any]], Awaitable[bool]] | None
    trigger: Callable[[ToolCall[Any, Any]], Awaitable[Trigger | None]] | None
    disabled: bool = False
    """Whether the operator has switched it off."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    def configure(self, config: Struct) -> object:
        """Check a configuration and return it in the form that the tool receives.

        Raises:
            InvalidRequestError: The configuration is wrong; the violations say where.
        """
        _, parsed, violations = self.configs.read(_members(config))
        if violations:
            raise InvalidRequestError(_summary(self.name, violations), violations, tool=self.name)
        return parsed

    def arguments_of(self, call: pb.FunctionCall | None) -> object:
        """Check the arguments of a call and return them in the form that the tool receives.

        Args:
            call: The call of the model. If None, no model calls the tool.

        Raises:
            InvalidRequestError: The tool cannot be run so, or the arguments are wrong; the
                violations say where.
        """
        if call is None:
            return self._defaults()
        if self.tool.offer is not None:
            return CalledFunction(call.name, members_of(call))
        function = self.tool.function
        if self.arguments is None or function is None:
            raise self._wrong_mode("function")
        if call.name != function.name:
            raise NotFoundError(f"No function is named {call.name[:_MAX_NAME_CHARS]!r}.")
        _, parsed, violations = self.arguments.read(members_of(call))
        if violations:
            message = f"The arguments of {function.name!r} are wrong: {listed(violations)}."
            raise InvalidRequestError(message, violations, kind=WRONG_ARGUMENTS, tool=self.name)
        return parsed

    def functions(self) -> list[chat_pb2.FunctionDeclaration]:
        """Return the declaration of the function that models may call.

        Raises:
            InvalidRequestError: Models cannot call the tool.
        """
        self.require("function")
        return [declaration(self.tool.function)] if self.tool.function else []

    def require(self, mode: Mode) -> None:
        """Refuse a tool that does not support a mode.

        Raises:
            InvalidRequestError: It does not.
        """
        if mode not in self.tool.modes:
            raise self._wrong_mode(mode)

    def require_enabled(self, config: object, conversation: Conversation) -> None:
        """Refuse a call of a tool that is disabled now, even if a model was offered it before.

        Raises:
            NotFoundError: The tool is disabled.
        """
        if not self.is_enabled(config, conversation):
            raise NotFoundError(f"The function of the tool {self.name!r} is switched off here.")

    def is_enabled(self, config: object, conversation: Conversation) -> bool:
        """Return whether models may call the tool with this configuration."""
        if self.disabled:
            return False
        enabled = self.tool.enabled
        context = OfferContext(config, conversation.assistant, conversation.caller)
        return enabled is None or enabled(context)

    def _defaults(self) -> object:
        self.require("augment")
        if self.arguments is None:
            return None
        _, parsed, violations = self.arguments.read({})
        return None if violations else parsed

    def _wrong_mode(self, mode: Mode) -> InvalidRequestError:
        modes = " and ".join(map(repr, self.tool.modes))
        message = f"The tool {self.name!r} cannot be bound in the mode {mode!r}, only in {modes}."
        return InvalidRequestError(message, [Violation("mode", "is none of the tool's")])

    def validate(
        self, config: Struct, mode: assistant_pb2.Mode.ValueType = assistant_pb2.MODE_UNSPECIFIED
    ) -> tuple[dict[str, Any], Sequence[Violation]]:
        """Return a configuration with its defaults, and everything that is wrong with a binding.

        Args:
            config: The configuration.
            mode: The binding's mode. If not set, it is not checked.
        """
        wrong_mode = []
        if mode and mode not in (_MODES[each] for each in self.tool.modes):
            modes = " or ".join(map(repr, self.tool.modes))
            wrong_mode = [Violation("mode", f"must be {modes} for the tool {self.name!r}")]
        try:
            effective, _, violations = self.configs.read(_members(config))
        except InvalidRequestError as error:
            return {}, [*wrong_mode, *error.violations]
        return effective, [*wrong_mode, *violations]


def builtin(capabilities: Capabilities, disabled: Collection[str]) -> Plugins[Any]:
    """Return Heddle's own tools.

    Args:
        capabilities: The capabilities that tools can request.
        disabled: The names of tools that the operator has switched off.
    """
    read = partial(_installed, capabilities=capabilities, disabled=disabled)
    return discover(tools, "", None, read, KIND)


def report_obstacles(plugins: Plugins[Installed]) -> None:
    """Report the tools that switch themselves off in every conversation."""
    for name, installed in plugins.loaded.items():
        if installed.tool.obstacle:
            message = f"The tool {name!r} is never called: {installed.tool.obstacle}"
            plugins.report(plugins.origins[name], message, "tool can never be called")


class Registry:
    """The installed tools by name, and what could not be installed."""

    def __init__(self, plugins: Plugins[Any], disabled: Collection[str] = ()) -> None:
        """Create a registry.

        Args:
            plugins: The tools, of the classes `Installed` and `PluginTool`.
            disabled: The names of tools that the operator has switched off.
        """
        for name in set(disabled) - plugins.loaded.keys():
            log.warning("a tool that is switched off is not installed", tool=name)
        known = sorted(plugins.loaded.items())
        self._installed = {name: each for name, each in known if isinstance(each, Installed)}
        self._plugins = {name: each for name, each in known if isinstance(each, PluginTool)}
        self._origins = plugins.origins
        self.problems: tuple[Problem, ...] = tuple(plugins.problems)
        self._descriptions = {
            name: self.describe(each) if isinstance(each, Installed) else each.description
            for name, each in known
        }

    @classmethod
    def discover(
        cls, folder: Path | None, capabilities: Capabilities, disabled: Collection[str] = ()
    ) -> "Registry":
        """Return Heddle's tools, those of installed distributions, and those of `folder`.

        Args:
            folder: The mounted folder of plugins, if there is one.
            capabilities: The capabilities that tools can request.
            disabled: The names of tools that the operator has switched off.
        """
        make_importable()
        read = partial(_installed, capabilities=capabilities, disabled=disabled)
        plugins = discover(tools, ENTRY_POINTS, folder, read, KIND)
        report_obstacles(plugins)
        return cls(plugins, disabled)

    @classmethod
    def of(cls, *tools: Tool, capabilities: Capabilities = NO_CAPABILITIES) -> "Registry":
        """Return a registry of these tools."""
        plugins: Plugins[Installed] = Plugins(KIND)
        for tool in tools:
            plugins.add(install(tool, capabilities), "builtin")
        return cls(plugins)

    def __iter__(self) -> Iterator[Installed]:
        """Iterate over the tools that run in this process, in the order of names."""
        return iter(self._installed.values())

    def origin(self, name: str) -> str:
        """Return the origin of a tool: `builtin`, `package:<name>` or `folder:<file>`."""
        return self._origins[name]

    @property
    def descriptions(self) -> Iterable[pb.Tool]:
        """The descriptions of all tools for clients, in the order of names."""
        return self._descriptions.values()

    def description(self, name: str) -> pb.Tool:
        """Return a tool as clients see it.

        Raises:
            NotFoundError: There is none of this name.
        """
        if name not in self._descriptions:
            raise _not_found(name)
        return self._descriptions[name]

    def plugin(self, name: str) -> PluginTool | None:
        """Return a tool that runs in a process of its own; None if it is no such tool."""
        return self._plugins.get(name)

    @property
    def plugin_tools(self) -> Iterable[PluginTool]:
        """The tools that run in processes of their own, in the order of names."""
        return self._plugins.values()

    def get(self, name: str) -> Installed:
        """Return the tool called `name`, which runs in this process.

        Raises:
            NotFoundError: There is none.
        """
        try:
            return self._installed[name]
        except KeyError:
            raise _not_found(name) from None

    def describe(self, installed: Installed) -> pb.Tool:
        """Return a tool as clients see it."""
        tool = installed.tool
        origin = self._origins[tool.name]
        label = tool.label or tool.title
        texts = {"title": tool.title, "description": tool.description, "label": label}
        known = builtin_translations() if origin == "builtin" else {}
        translations = tool.translations or known
        schema = translated(tool.schema, texts, translations)
        return pb.Tool(
            name=tool.name,
            title=tool.title,
            label=label,
            description=tool.description,
            default_slot=tool.slot,
            config_schema_json=json.dumps(schema, ensure_ascii=False),
            version=tool.version,
            category=tool.category,
            modes=[_MODES[mode] for mode in tool.modes],
            origin=origin,
            functions=[declaration(tool.function)] if tool.function else (),
            end=tool.end,
            examples=examples_of(tool),
            isolation=pb.TOOL_ISOLATION_SERVICE,
            effect=EFFECTS[tool.effect or ("read_only" if origin == "builtin" else "destructive")],
        )


def _not_found(name: str) -> NotFoundError:
    shown = name[:_MAX_NAME_CHARS]
    return NotFoundError(f"No tool is named {shown!r}.", tool=shown)


def _members(config: Struct) -> dict[str, Any]:
    try:
        return from_struct(config)
    except (SerializeToJsonError, ValueError):
        violation = Violation("config", "must hold neither NaN nor infinite numbers")
        raise InvalidRequestError("The configuration is not JSON.", [violation]) from None


def _summary(tool: str, violations: Sequence[Violation]) -> str:
    """Return one sentence about the violations; a shorter one if one option is missing."""
    first, *others = violations
    name = first.field.removeprefix("config.")
    if not others and first.description == REQUIRED and "." not in name:
        return f"No {name} configured"
    return f"The configuration of the tool {tool!r} is wrong: {listed([first])}."


def _installed(
    module: ModuleType, capabilities: Capabilities, disabled: Collection[str]
) -> Iterator[Installed]:
    return (install(tool, capabilities, disabled) for tool in tools_in(module))


def install(tool: Tool, capabilities: Capabilities, disabled: Collection[str] = ()) -> Installed:
    """Return a tool, ready to be run.

    Args:
        tool: The tool.
        capabilities: What it can request.
        disabled: The names of tools that the operator has switched off.

    Raises:
        DefinitionError: Clients could not use it; the message names everything that is wrong.
    """
    check(tool, capabilities)
    function = tool.function
    return Installed(
        tool,
        CompiledSchema(tool.schema, tool.parse),
        CompiledSchema(function.schema, function.parse, ARGUMENTS) if function else None,
        capabilities.bind(tool.run),
        capabilities.bind(tool.offer) if tool.offer else None,
        capabilities.bind(tool.available) if tool.available else None,
        capabilities.bind(tool.trigger) if tool.trigger else None,
        tool.name in disabled,
    )
