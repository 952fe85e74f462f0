"""A tool that runs in this process, with its compiled schemas and bound capabilities."""

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from google.protobuf.struct_pb2 import Struct
from heddle.assistant.v1 import assistant_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import InvalidRequestError, NotFoundError, Violation
from heddle_runtime.redaction.names import is_secret_name

from heddle_tools_service.contract.descriptions import MODES
from heddle_tools_service.definitions.capability_injection import Capabilities
from heddle_tools_service.definitions.checks import check
from heddle_tools_service.definitions.schemas import CompiledSchema
from heddle_tools_service.definitions.validation_errors import ARGUMENTS, REQUIRED, listed
from heddle_tools_service.sdk import (
    CalledFunction,
    FunctionOffer,
    Mode,
    OfferContext,
    Tool,
    ToolArguments,
    ToolCall,
    ToolConfig,
    Trigger,
)
from heddle_tools_service.sdk.definition import Outcome

_MAX_ARGUMENT_CHARS = 1_000_000
_MAX_NAME_CHARS = 80
_KNOWN_CONFIGS = 256
_WRONG_ARGUMENTS = "invalid_arguments"
"""The kind of the failure."""


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
    known: dict[bytes | None, object] = field(default_factory=dict)
    """Configurations without secrets that were checked, and as None the default arguments."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    def configure(self, config: Struct) -> object:
        """Check a configuration and return it in the form that the tool receives.

        Raises:
            InvalidRequestError: The configuration is wrong; the violations say where.
        """
        text = config.SerializeToString(deterministic=True)
        if text in self.known:
            return self.known[text]
        _, parsed, violations = self.configs.read(_members(config))
        if violations:
            raise InvalidRequestError(_summary(self.name, violations), violations, tool=self.name)
        if isinstance(parsed, ToolConfig) and not any(map(is_secret_name, config.fields)):
            if len(self.known) >= _KNOWN_CONFIGS:
                self.known.clear()
            self.known[text] = parsed
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
            return CalledFunction(call.name, _arguments_in(call))
        function = self.tool.function
        if self.arguments is None or function is None:
            raise self._wrong_mode("function")
        if call.name != function.name:
            raise NotFoundError(f"No function is named {call.name[:_MAX_NAME_CHARS]!r}.")
        _, parsed, violations = self.arguments.read(_arguments_in(call))
        if violations:
            message = f"The arguments of {function.name!r} are wrong: {listed(violations)}."
            raise InvalidRequestError(message, violations, kind=_WRONG_ARGUMENTS, tool=self.name)
        return parsed

    def require(self, mode: Mode) -> None:
        """Refuse a tool that does not support a mode.

        Raises:
            InvalidRequestError: It does not.
        """
        if mode not in self.tool.modes:
            raise self._wrong_mode(mode)

    def require_enabled(self, context: OfferContext[Any]) -> None:
        """Refuse a call of a tool that is disabled now, even if a model was offered it before.

        Raises:
            NotFoundError: The tool is disabled.
        """
        if not self.is_enabled(context):
            raise NotFoundError(f"The function of the tool {self.name!r} is switched off here.")

    def is_enabled(self, context: OfferContext[Any]) -> bool:
        """Return whether models may call the tool with this configuration."""
        if self.disabled:
            return False
        return self.tool.enabled is None or self.tool.enabled(context)

    def _defaults(self) -> object:
        self.require("augment")
        if self.arguments is None:
            return None
        if None not in self.known:
            _, parsed, violations = self.arguments.read({})
            if not isinstance(parsed, ToolArguments | None):  # the tool may change it
                return parsed
            self.known[None] = None if violations else parsed
        return self.known[None]

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
        if mode and mode not in (MODES[each] for each in self.tool.modes):
            modes = " or ".join(map(repr, self.tool.modes))
            wrong_mode = [Violation("mode", f"must be {modes} for the tool {self.name!r}")]
        try:
            effective, _, violations = self.configs.read(_members(config))
        except InvalidRequestError as error:
            return {}, [*wrong_mode, *error.violations]
        return effective, [*wrong_mode, *violations]


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


def _members(config: Struct) -> dict[str, Any]:
    try:
        return from_struct(config)
    except ValueError:
        violation = Violation("config", "must hold neither NaN nor infinite numbers")
        raise InvalidRequestError("The configuration is not JSON.", [violation]) from None


def _summary(tool: str, violations: Sequence[Violation]) -> str:
    """Return one sentence about the violations; a shorter one if one option is missing."""
    first, *others = violations
    name = first.field.removeprefix("config.")
    if not others and first.description == REQUIRED and "." not in name:
        return f"No {name} configured"
    return f"The configuration of the tool {tool!r} is wrong: {listed([first])}."


def _arguments_in(call: pb.FunctionCall) -> dict[str, Any]:
    """Return the arguments that a model wrote; an empty object if it wrote nothing.

    Raises:
        InvalidRequestError: They are no JSON object.
    """
    if not call.arguments_json.strip():
        return {}
    if len(call.arguments_json) > _MAX_ARGUMENT_CHARS:
        raise _wrong_arguments(call, f"must have at most {_MAX_ARGUMENT_CHARS:,} characters")
    try:
        members = json.loads(call.arguments_json, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise _wrong_arguments(
            call, f"are not JSON: {error.msg} at character {error.pos}"
        ) from None
    except RecursionError:
        raise _wrong_arguments(call, "are nested too deep") from None
    except ValueError:
        raise _wrong_arguments(
            call, "hold a number that JSON does not know, or a far too long one"
        ) from None
    if not isinstance(members, dict):
        raise _wrong_arguments(call, "must be a JSON object")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _wrong_arguments(call: pb.FunctionCall, what: str) -> InvalidRequestError:
    message = f"The arguments of {call.name[:80]!r} {what}."
    return InvalidRequestError(message, [Violation("arguments", what)], kind=_WRONG_ARGUMENTS)
