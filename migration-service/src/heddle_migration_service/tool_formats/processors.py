"""Files with a function `tool_processor` or, still older, `rag_processor`."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from heddle_tools_service.adapters.legacy import legacy_tool, title_of
from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.definitions.unsatisfiable import signature_problem
from heddle_tools_service.sdk import Tool, ToolCall, ToolResult
from heddle_tools_service.sdk.definition import Run

from heddle_migration_service.tool_formats.shapes import LegacyAssistant, member, to_result

Arguments = Callable[[ToolCall[dict[str, Any]]], tuple[Any, ...]]


def read_rag_processor(module: ModuleType) -> Iterator[Tool]:
    """Yield the tool of a module with `rag_processor(messages, assistant)`."""
    process = getattr(module, "rag_processor", None)
    if not callable(process):
        return
    _check_parameters("rag_processor", process, "messages", "assistant")

    def arguments(call: ToolCall[dict[str, Any]]) -> tuple[Any, ...]:
        return call.request["messages"], LegacyAssistant.of(call)

    yield legacy_tool(module, _stem(module), "Legacy RAG processor.", _calling(process, arguments))


def read_tool_processor(module: ModuleType) -> Iterator[Tool]:
    """Yield the tool of a module with `tool_processor(request, assistant, config)`.

    `get_definition()` defines it. Without that function the tool is named after the file.
    """
    process = getattr(module, "tool_processor", None)
    define = getattr(module, "get_definition", None)
    if process is None and define is None:
        return
    if not callable(process):
        raise DefinitionError(
            "The file has get_definition() but no tool_processor(request, assistant, config). "
            "Add that function."
        )
    _check_parameters("tool_processor", process, "request", "assistant", "config")
    if inspect.iscoroutinefunction(define):
        raise DefinitionError("get_definition() is async. Make it an ordinary function.")
    definition = define() if callable(define) else _synthetic(module)
    yield defined_tool(module, definition, process)


def defined_tool(
    module: ModuleType, definition: object, process: Callable[..., Any], **more: object
) -> Tool:
    """Return the tool of a definition.

    Args:
        module: The module.
        definition: A dict or an object.
        process: Receives the request, the assistant and the configuration.
        more: Further members of `Tool`.
    """

    def arguments(call: ToolCall[dict[str, Any]]) -> tuple[Any, ...]:
        return call.request, LegacyAssistant.of(call), dict(call.config)

    name = str(member(definition, "name"))
    return legacy_tool(
        module,
        name,
        member(definition, "description", ""),
        _calling(process, arguments),
        title=member(definition, "display_name", title_of(name)),
        slot=str(member(definition, "placeholder", "context")),
        schema=member(definition, "config_schema", {}) or {},
        category=member(definition, "category", "rag"),
        version=str(member(definition, "version", "1.0")),
        **more,
    )


def _check_parameters(name: str, process: Callable[..., Any], *parameters: str) -> None:
    if problem := signature_problem(process, *parameters):
        message = f"{name} {problem}. Write def {name}({', '.join(parameters)})."
        raise DefinitionError(message)


def _calling(process: Callable[..., Any], arguments: Arguments) -> Run:
    """Return a tool's function that calls `process`; it is async if that is."""
    if inspect.iscoroutinefunction(process):

        async def run(call: ToolCall[dict[str, Any]]) -> ToolResult:
            return to_result(await process(*arguments(call)))

        return run

    def run_in_thread(call: ToolCall[dict[str, Any]]) -> ToolResult:
        return to_result(process(*arguments(call)))

    return run_in_thread


def _synthetic(module: ModuleType) -> Mapping[str, str]:
    first_line = (module.__doc__ or "").strip().partition("\n")[0]
    description = first_line or "Tool of an older format, without a description."
    return {"name": _stem(module), "description": description, "category": "legacy"}


def _stem(module: ModuleType) -> str:
    """Return the name of the file that `module` was read from, without its ending."""
    return module.__name__.rpartition(".")[2]
