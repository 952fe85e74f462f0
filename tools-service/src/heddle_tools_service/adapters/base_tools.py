"""Files with classes that have a name, a description and `async _arun`, for models to call."""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from heddle_tools_service.adapters.legacy import title_of
from heddle_tools_service.definitions import DefinitionError
from heddle_tools_service.models import arguments_schema
from heddle_tools_service.sdk import FileChange, Function, ReportStatus, Tool, ToolCall, ToolResult
from heddle_tools_service.sdk.definition import Run

Callback = Callable[[Mapping[str, Any]], Awaitable[None]]


class BaseTool:
    """What such a class derives from where the package that it was written for is not there."""

    name: str = ""
    description: str = ""
    args_schema: type[BaseModel] | None = None
    """What a model fills in. None: the parameters of `_arun`."""
    _callback: Callback | None = None

    def set_sse_callback(self, callback: Callback) -> None:
        """Take what tells the person who waits."""
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
                yield _tool(value)


def _tool(tool_class: type) -> Tool:
    try:
        example = tool_class()
    except Exception as error:
        message = f"The class {tool_class.__name__} cannot be made without arguments: {error}"
        raise DefinitionError(message) from error
    arguments = _arguments(example)
    name = str(getattr(example, "name", ""))
    description = " ".join(str(getattr(example, "description", "")).split())
    return Tool(
        name=name,
        title=title_of(name),
        description=description,
        slot="context",
        schema={},
        parse=dict,
        run=_calling(tool_class),
        category="legacy",
        modes=("function",),
        module=tool_class.__module__,
        function=Function(name, description, arguments_schema(arguments), _taken(arguments)),
    )


def _arguments(tool: Any) -> type[BaseModel]:  # noqa: ANN401 - whatever the author made
    """Return the model of what `_arun` takes: the author's, or one made of its parameters."""
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


def _taken(model: type[BaseModel]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def taken(arguments: dict[str, Any]) -> dict[str, Any]:
        read = model.model_validate(arguments)
        return {
            name: getattr(read, name)
            for name in (*type(read).model_fields, *(read.model_extra or ()))
        }

    return taken


def _calling(tool_class: type) -> Run:
    async def run(call: ToolCall[dict[str, Any], dict[str, Any]]) -> ToolResult:
        tool = tool_class()  # one for each call: it is told whom to tell
        if callable(listen := getattr(tool, "set_sse_callback", None)):
            listen(_callback(call.status))
        return _result(await tool._arun(**call.arguments))  # noqa: SLF001 - as above

    return run


def _callback(status: ReportStatus) -> Callback:
    async def tell(event: Mapping[str, Any]) -> None:
        file, reason = str(event.get("file") or ""), str(event.get("reason") or "")
        change = FileChange(file, reason, diff=str(event.get("diff") or "")) if file else None
        message = event.get("message") or event.get("content") or f"{event.get('type', '')} {file}"
        status(str(message), change)

    return tell


def _result(output: object) -> ToolResult:
    if isinstance(output, ToolResult):
        return output
    if output is None or isinstance(output, str):
        return ToolResult(output or "")
    return ToolResult(json.dumps(output, ensure_ascii=False, default=str))
