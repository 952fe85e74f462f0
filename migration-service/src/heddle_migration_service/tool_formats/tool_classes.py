"""Files with classes that have `get_definition` and `process`, and their base class."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.definitions.unsatisfiable import signature_problem
from heddle_tools_service.sdk import Tool
from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from heddle_migration_service.tool_formats.processors import defined_tool
from heddle_migration_service.tool_formats.shapes import LegacyAssistant as Assistant

__all__ = ["Assistant", "BaseTool", "ToolDefinition", "ToolResult"]


@dataclass
class ToolResult:
    """What `process` returns."""

    placeholder: str
    content: str
    sources: list[dict[str, Any]]
    metadata: dict[str, Any] | None = None
    error: str | None = None


@dataclass
class ToolDefinition:
    """What `get_definition` returns."""

    name: str
    display_name: str
    description: str
    placeholder: str
    config_schema: dict[str, Any]
    version: str = "1.0"
    category: str = "rag"


class BaseTool(ABC):
    """The base class."""

    @classmethod
    @abstractmethod
    def get_definition(cls) -> ToolDefinition:
        """Return the definition."""

    @abstractmethod
    def process(
        self, request: dict[str, Any], assistant: Assistant, tool_config: dict[str, Any]
    ) -> ToolResult:
        """Return the text for the placeholder."""

    def validate_config(self, tool_config: dict[str, Any]) -> list[str]:
        """Return what is wrong with a configuration that fits the schema."""
        return []


def read(module: ModuleType) -> Iterator[Tool]:
    """Yield the tools of the classes that a module defines."""
    for value in vars(module).values():
        is_tool = isinstance(value, type) and issubclass(value, BaseTool)
        if is_tool and value.__module__ == module.__name__ and not inspect.isabstract(value):
            yield _tool(module, value)


def _tool(module: ModuleType, tool_class: type[BaseTool]) -> Tool:
    try:
        process = tool_class().process
    except Exception as error:
        message = f"The class {tool_class.__name__} cannot be made without arguments: {error}"
        raise DefinitionError(message) from error
    if problem := signature_problem(process, "request", "assistant", "tool_config"):
        raise DefinitionError(f"The process of {tool_class.__name__} {problem}.")

    def parse(config: dict[str, Any]) -> dict[str, Any]:
        problems = tool_class().validate_config(dict(config))
        if not problems:
            return config
        errors = [PydanticCustomError("config", "{text}", {"text": str(each)}) for each in problems]
        details = [InitErrorDetails(type=each, input=config) for each in errors]
        raise ValidationError.from_exception_data(tool_class.__name__, details)

    async def run_async(*arguments: Any) -> Any:  # noqa: ANN401 - of an author's method
        return await tool_class().process(*arguments)  # type: ignore[misc] # it is async

    def run(*arguments: Any) -> ToolResult:  # noqa: ANN401 - as above
        return tool_class().process(*arguments)

    run_tool = run_async if inspect.iscoroutinefunction(process) else run
    return defined_tool(module, tool_class.get_definition(), run_tool, parse=parse)
