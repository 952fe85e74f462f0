"""Files with `tool_processor(request, assistant, config)` and `get_definition()`."""

import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from heddle_tools_service.adapters.legacy import (
    LegacyAssistant,
    calling,
    stem,
    title_of,
    to_result,
)
from heddle_tools_service.definitions import DefinitionError
from heddle_tools_service.sdk import Tool, ToolCall

_MISSING = object()


def read(module: ModuleType) -> Iterator[Tool]:
    """Yield the tool of a module, if it is of this shape."""
    process = getattr(module, "tool_processor", None)
    define = getattr(module, "get_definition", None)
    if process is None and define is None:
        return
    if not callable(process):
        raise DefinitionError(
            "The file has get_definition() but no tool_processor(request, assistant, config). "
            "Add that function."
        )
    if inspect.iscoroutinefunction(define):
        raise DefinitionError("get_definition() is async. Make it an ordinary function.")
    definition = define() if callable(define) else _synthetic(module)

    def arguments(call: ToolCall[dict[str, Any]]) -> tuple[Any, ...]:
        return call.request, LegacyAssistant.of(call), dict(call.config)

    name = str(_member(definition, "name"))
    slot = str(_member(definition, "placeholder", "context"))
    yield Tool(
        name=name,
        title=_member(definition, "display_name", title_of(name)),
        description=_member(definition, "description", ""),
        slot=slot,
        schema=_member(definition, "config_schema", {}) or {},
        parse=dict,
        run=calling(process, arguments, to_result),
        category=_member(definition, "category", "rag"),
        version=str(_member(definition, "version", "1.0")),
        module=module.__name__,
    )


def _synthetic(module: ModuleType) -> Mapping[str, str]:
    first_line = (module.__doc__ or "").strip().partition("\n")[0]
    description = first_line or "Tool of an older shape, without a description."
    return {"name": stem(module), "description": description, "category": "legacy"}


def _member(definition: object, name: str, default: object = _MISSING) -> Any:  # noqa: ANN401 - whatever the author put there
    """Return a member of a definition, which may be a dict or an object."""
    if isinstance(definition, Mapping):
        value = definition.get(name, default)
    else:
        value = getattr(definition, name, default)
    if value is _MISSING:
        raise DefinitionError(f"get_definition() tells no {name!r}. Add it.")
    return default if value is None and default is not _MISSING else value
