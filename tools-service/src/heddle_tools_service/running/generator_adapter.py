"""Turns what a tool's function returns or yields into one result."""

import inspect
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from heddle_runtime.contract.frontend_payloads import shortened

from heddle_tools_service.contract.results import MAX_TEXT_CHARS
from heddle_tools_service.sdk import (
    Error,
    Response,
    Result,
    Source,
    Status,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolResult,
)

_TITLES = ("manual", "title")


async def as_result(tool: str, output: object, call: ToolCall[Any]) -> ToolResult:
    """Return the result of a tool.

    Args:
        tool: The tool's name.
        output: What its function returned: a result, an awaitable of one, or an async generator.
        call: Receives the statuses.

    Raises:
        ToolError: It yields an object that is no output, or only errors.
        TypeError: It returns something else than a result.
    """
    if isinstance(output, AsyncGenerator):
        return _joined(tool, await _outputs(tool, output, call), call)
    returned = await output if inspect.isawaitable(output) else output
    if not isinstance(returned, ToolResult):
        message = f"a tool returns a ToolResult, not {type(returned).__name__}"
        raise TypeError(message)
    return returned


async def _outputs(
    tool: str, generator: AsyncGenerator[object], call: ToolCall[Any]
) -> list[Result | Error | Response]:
    """Return the outputs of a tool except its statuses, which are sent as they come."""
    outputs: list[Result | Error | Response] = []
    async with aclosing(generator):
        async for each in generator:
            match each:
                case Status():
                    call.status(each.message)
                case Result() | Error() | Response():
                    outputs.append(each)
                case _:
                    raise ToolError(_not_an_output(tool, each), kind="not_an_output")
    return outputs


def _not_an_output(tool: str, value: object) -> str:
    remedy = "yield a Result" if isinstance(value, ToolResult) else "wrap it in one of them"
    return (
        f"The tool {tool!r} yields an object of the type {type(value).__name__!r}. A tool may "
        f"yield only Result, Error, Response and Status of heddle_tools_service.sdk: {remedy}."
    )


def _joined(tool: str, outputs: Sequence[ToolOutput], call: ToolCall[Any]) -> ToolResult:
    results = [each for each in outputs if isinstance(each, Result)]
    responses = [each for each in outputs if isinstance(each, Response)]
    errors = [each for each in outputs if isinstance(each, Error)]
    if errors and not (results or responses):
        last = errors[-1]
        details = {"recoverable": last.recoverable, "suggestion": last.suggestion}
        raise ToolError(last.message, details=details)
    objects = [each for result in results for each in result.objects]
    answer = "".join(each.text for each in responses)
    cited = [each for response in responses for each in response.sources]
    if call.mode == "agent" and answer:
        objects.append({"text": answer, "sources": cited} if cited else {"text": answer})
    name = _name(tool, results)
    metadata = {key: each for result in results for key, each in result.metadata.items()}
    message = " ".join(filter(None, (each.llm_message for each in results)))
    content = {"name": name, "objects": objects, "metadata": metadata, "llm_message": message}
    return ToolResult(
        answer or (_text(content, call) if objects else ""),
        list(_sources([*cited, *objects])),
        metadata,
        [each.message for each in errors],
        objects=objects,
        name=name,
        message=message,
    )


def _name(tool: str, results: Sequence[Result]) -> str:
    names = list(dict.fromkeys(each.name for each in results if each.name))
    if len(names) > 1:
        raise ToolError(
            f"The tool {tool!r} yields results of the names {names[0]!r} and {names[1]!r}. Those "
            "of one run have one name: give them the same, or make two tools."
        )
    return names[0] if names else ""


def _text(content: Mapping[str, Any], call: ToolCall[Any]) -> str:
    if call.mode == "function":
        return _json(content)
    return "\n\n".join(map(_paragraph, content["objects"]))


def _paragraph(item: object) -> str:
    text = item.get("text") if isinstance(item, Mapping) else None
    return text if isinstance(text, str) else _json(item)


def _json(value: object) -> str:
    return json.dumps(shortened(value, MAX_TEXT_CHARS), ensure_ascii=False)


def _sources(items: Sequence[object]) -> Iterator[Source]:
    known: dict[tuple[str, str], Source] = {}
    for each in items:
        if not isinstance(each, Mapping):
            continue
        title = next((each[name] for name in _TITLES if isinstance(each.get(name), str)), "")
        if title:
            page = each.get("page")
            attributes = {} if page is None else {"page": str(page)}
            uri, text = each.get("uri"), each.get("text")
            known.setdefault(
                (title, str(page)),
                Source(
                    title,
                    uri if isinstance(uri, str) else "",
                    text if isinstance(text, str) else "",
                    attributes=attributes,
                ),
            )
    return iter(known.values())
