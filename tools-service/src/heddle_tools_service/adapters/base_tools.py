"""Reads files with tool classes: each has a name, a description and `async _arun`."""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from heddle_tools_service.adapters.legacy import legacy_tool
from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.definitions.unsatisfiable import signature_problem
from heddle_tools_service.sdk import FileChange, Function, ReportStatus, Tool, ToolCall, ToolResult
from heddle_tools_service.sdk.definition import Run
from heddle_tools_service.sdk.models import arguments_schema

Callback = Callable[[Mapping[str, Any]], Awaitable[None]]


class BaseTool:
    """The base class, for installations without the package that a class was written for."""

    name: str = ""
    description: str = ""
    args_schema: type[BaseModel] | None = None
    """The arguments. None: the parameters of `_arun`."""
    _callback: Callback | None = None

    def set_sse_callback(self, callback: Callback) -> None:
        """Set the function that receives events for the waiting user."""
        self._callback = callback

    async def emit_event(self, event: Mapping[str, Any]) -> None:
        """Report an event: its `message`, and the change of a file if it has a `file`."""
        if self._callback is not None:
            await self._callback(event)


def read(module: ModuleType) -> Iterator[Tool]:
    """Yield the tools of the classes that a module defines."""
    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            work = getattr(value, "_arun", None)
            if inspect.iscoroutinefunction(work) and not inspect.isabstract(value):
                yield _tool(module, value)


def _tool(module: ModuleType, tool_class: type) -> Tool:
    try:
        example = tool_class()
    except Exception as error:
        message = f"The class {tool_class.__name__} cannot be made without arguments: {error}"
        raise DefinitionError(message) from error
    arguments = _arguments(example)
    members = dict.fromkeys(arguments.model_fields, "")
    if problem := signature_problem(example._arun, **members):  # noqa: SLF001 - what the shape names so
        raise DefinitionError(
            f"The _arun of {tool_class.__name__} {problem}. Give it the members of args_schema as "
            "parameters."
        )
    name = str(getattr(example, "name", ""))
    description = " ".join(str(getattr(example, "description", "")).split())
    return legacy_tool(
        module,
        name,
        description,
        _calling(tool_class),
        modes=("function",),
        function=Function(name, description, arguments_schema(arguments), _parser(arguments)),
    )


def _arguments(tool: Any) -> type[BaseModel]:  # noqa: ANN401 - whatever the author made
    """Return the model of the arguments: the author's, or one of the parameters of `_arun`."""
    declared = getattr(tool, "args_schema", None)
    if isinstance(declared, type) and issubclass(declared, BaseModel):
        return declared
    signature = inspect.signature(tool._arun, eval_str=True)  # noqa: SLF001 - what the shape names so
    members: dict[str, Any] = {
        each.name: (
            Any if each.annotation is each.empty else each.annotation,
            ... if each.default is each.empty else each.default,
        )
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }
    anything = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
    config = ConfigDict(extra="allow" if anything else "forbid")
    return create_model("Arguments", __config__=config, **members)


def _parser(model: type[BaseModel]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def parse(arguments: dict[str, Any]) -> dict[str, Any]:
        parsed = model.model_validate(arguments)
        names = (*type(parsed).model_fields, *(parsed.model_extra or ()))
        return {name: getattr(parsed, name) for name in names}

    return parse


def _calling(tool_class: type) -> Run:
    async def run(call: ToolCall[dict[str, Any], dict[str, Any]]) -> ToolResult:
        tool = tool_class()  # one for each call, as it has a callback of its own
        if callable(listen := getattr(tool, "set_sse_callback", None)):
            listen(_callback(call.status))
        return _result(await tool._arun(**call.arguments))  # noqa: SLF001 - as above

    return run


def _callback(status: ReportStatus) -> Callback:
    async def report(event: Mapping[str, Any]) -> None:
        file, reason = str(event.get("file") or ""), str(event.get("reason") or "")
        change = FileChange(file, reason, diff=str(event.get("diff") or "")) if file else None
        message = event.get("message") or event.get("content") or f"{event.get('type', '')} {file}"
        status(str(message), change)

    return report


def _result(output: object) -> ToolResult:
    if isinstance(output, ToolResult):
        return output
    if output is None or isinstance(output, str):
        return ToolResult(output or "")
    return ToolResult(json.dumps(output, ensure_ascii=False, default=str))
