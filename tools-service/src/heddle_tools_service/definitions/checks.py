"""Checks the definitions of tools. Each message tells the author what to change."""

import inspect
import re
from collections.abc import Iterator
from typing import get_args

from heddle_runtime.contract.json_schema import Schema, SchemaError

from heddle_tools_service.definitions.capability_injection import Capabilities
from heddle_tools_service.definitions.validation_errors import ARGUMENTS, validation_errors
from heddle_tools_service.sdk import Mode, Tool
from heddle_tools_service.sdk.calls import CALLED

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_NAME_RULE = "use 1 to 63 of a-z, 0-9 and _, a letter first"
_FUNCTION = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
_FUNCTION_RULE = "use 1 to 64 of a-z, A-Z, 0-9, _ and -, a letter first"
CATEGORIES = (
    *("rag", "rubric", "file", "utilities", "lms", "custom", "legacy"),
    *("teaching", "development"),
)
_MAX_CHARS = {"title": 100, "description": 1_000, "version": 50}
# The text of the user, and what assistants that work as tools will fill.
_RESERVED_SLOTS = frozenset({"user_input", "tool_result"})
_RESERVED_NAMES = frozenset({"assistant_tool"})


class DefinitionError(ValueError):
    """A tool that cannot be installed; the message says what to change."""


def is_slot(name: str) -> bool:
    """Return whether a tool may fill a slot of this name."""
    return bool(_NAME.fullmatch(name)) and name not in _RESERVED_SLOTS


def check(tool: Tool, capabilities: Capabilities) -> None:
    """Refuse a tool whose definition clients could not use.

    Args:
        tool: The tool.
        capabilities: The capabilities that it can request.

    Raises:
        DefinitionError: The message names all faults.
    """
    if problems := [*_problems(tool), *_function_problems(tool, capabilities)]:
        raise DefinitionError(
            f"The tool {str(tool.name)[:80]!r} is not valid: {'; '.join(problems)}."
        )


def _problems(tool: Tool) -> Iterator[str]:
    for kind, word, reserved in (
        ("name", tool.name, _RESERVED_NAMES),
        ("slot (placeholder)", tool.slot, _RESERVED_SLOTS),
    ):
        # An older file's definition can hold anything there.
        if not _NAME.fullmatch(str(word)):
            yield f"its {kind} cannot be {str(word)[:80]!r}: {_NAME_RULE}"
        elif word in reserved:
            yield f"the {kind} {word!r} is reserved, choose another"
    for name, longest in _MAX_CHARS.items():
        value: object = getattr(tool, name)
        if not isinstance(value, str) or not value.strip():
            yield f"its {name} is missing, write one"
        elif len(value) > longest:
            yield f"its {name} is longer than {longest:,} characters, shorten it"
    if tool.category not in CATEGORIES:
        yield f"there is no category {str(tool.category)[:80]!r}: use {', '.join(CATEGORIES)}"
    if inspect.isgeneratorfunction(tool.run):
        yield "it yields without being async, write `async def`"
    if isinstance(tool.modes, str):
        yield f"its modes are a text, write modes=({str(tool.modes)!r},)"
    else:
        yield from _mode_problems(tool)


def _function_problems(tool: Tool, capabilities: Capabilities) -> Iterator[str]:
    yield from capabilities.problems(tool.run)
    if inspect.iscoroutinefunction(tool.enabled):  # its coroutine would count as true
        yield "its enabled is async, write `def`"
    for name in ("offer", "available", "trigger"):
        callback = getattr(tool, name)
        if callback is not None:
            yield from (f"of its {name}: {each}" for each in capabilities.problems(callback))
        if inspect.isfunction(callback) and not inspect.iscoroutinefunction(callback):
            yield f"its {name} is not async, write `async def`"


def _mode_problems(tool: Tool) -> Iterator[str]:
    for mode in tool.modes:
        if mode not in get_args(Mode):
            yield f"there is no mode {mode!r}: use {', '.join(get_args(Mode))}"
    if not tool.modes:
        yield "it can be bound in no mode, name one"
    if bool(CALLED & set(tool.modes)) != (tool.function is not None or tool.offer is not None):
        yield "the modes function and agent go with a function, take both or none"
    if tool.trigger is not None and tool.offer is not None:
        yield "a trigger cannot name one of the functions of offer, leave one of the two out"
    if tool.function and not _FUNCTION.fullmatch(tool.function.name):
        yield f"its function cannot be {tool.function.name[:80]!r}: {_FUNCTION_RULE}"
    if "agent" not in tool.modes:
        for name in ("trigger", "end"):
            if getattr(tool, name):
                yield f"{name} is for the mode agent, add the mode or leave it out"
    yield from _example_problems(tool)


def _example_problems(tool: Tool) -> Iterator[str]:
    if not tool.examples:
        return
    if tool.function is None:
        yield "its examples are of no use without a function, leave them out"
        return
    try:
        schema = Schema(tool.function.schema)
    except SchemaError as error:
        yield f"its examples cannot be checked, the {ARGUMENTS.schema} is not valid: {error}"
        return
    for number, example in enumerate(tool.examples, start=1):
        for wrong in validation_errors(schema.errors(dict(example.arguments)), ARGUMENTS):
            yield f"in its example {number} {wrong.field} {wrong.description}"
        if not example.request.strip():
            yield f"its example {number} has no request, write one"
