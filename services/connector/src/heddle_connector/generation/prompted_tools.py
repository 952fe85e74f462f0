"""Prompted tool use: conversations with tools as text, for models without native tool use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from heddle_runtime.contract.json_text import members
from heddle_runtime.errors import InvalidRequestError

from heddle_connector.generation.model_patterns import first_match, one_of
from heddle_connector.generation.prompt_formats import PROMPT_FORMATS, PromptFormat, Result
from heddle_connector.http.tolerant_json import BAD_JSON

NATIVE = "native"
PromptFormatName = Annotated[str, one_of([NATIVE, *PROMPT_FORMATS], "prompt format")]
TOOL_OPTIONS = ("tool_choice", "parallel_tool_calls")
"""Request members that a provider rejects or ignores if the request declares no tools."""
_SYSTEM_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True)
class PromptedTools:
    """The models whose prompts declare tools, by patterns of `connector/model`."""

    by_pattern: Mapping[str, str]
    """The first matching pattern applies. Without a match, tools are declared natively."""

    def prompt_format(self, model: str) -> PromptFormat | None:
        """Return the format of the prompts for `model`; None if it has native tool use."""
        return PROMPT_FORMATS.get(first_match(model, self.by_pattern) or NATIVE)


def prompted_messages(
    prompt_format: PromptFormat,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any] | msgspec.Raw],
    options: Mapping[str, msgspec.Raw],
) -> list[dict[str, Any]]:
    """Return a conversation in which tool declarations, calls and results are text.

    Args:
        prompt_format: The format of the text.
        messages: The conversation in OpenAI's chat completions format.
        tools: The tools in the same format.
        options: The other members of the request.

    Raises:
        InvalidRequestError: `tools` contains something other than functions.
    """
    conversation = list(_as_text(prompt_format, messages))
    choice = _decoded(options.get("tool_choice"))
    if not tools or choice == "none":
        return conversation
    parts = [prompt_format.declare(list(map(_function, tools)))]
    if choice == "required":
        parts.append("Call at least one function now.")
    elif isinstance(choice, dict) and "function" in choice:
        parts.append(f"Call the function {choice['function'].get('name')} now.")
    if _decoded(options.get("parallel_tool_calls")) is False:
        parts.append("Write at most one call at a time.")
    return _with_system("\n".join(parts), conversation)


def _function(tool: Mapping[str, Any] | msgspec.Raw) -> dict[str, Any]:
    if isinstance(tool, msgspec.Raw):
        raise InvalidRequestError(
            "The model is told of functions in its prompt, and knows no other tools."
        )
    function = tool["function"]
    return {name: _plain(value) for name, value in function.items() if name != "strict"}


def _as_text(
    prompt_format: PromptFormat, messages: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    names: dict[str, str] = {}
    results: list[Result] = []
    for message in messages:
        if message["role"] == "tool":
            name = names.get(message.get("tool_call_id", ""), "")
            results.append((name, _text(message["content"])))
            continue
        if results:
            yield _result_message(prompt_format, results)
            results = []
        calls = message.get("tool_calls")
        names |= {call["id"]: call["function"]["name"] for call in calls or ()}
        yield _call_message(prompt_format, message) if calls else dict(message)
    if results:
        yield _result_message(prompt_format, results)


def _result_message(prompt_format: PromptFormat, results: Sequence[Result]) -> dict[str, Any]:
    return {"role": "user", "content": prompt_format.write_results(results)}


def _call_message(prompt_format: PromptFormat, message: Mapping[str, Any]) -> dict[str, Any]:
    calls = [call["function"] for call in message["tool_calls"]]
    written = prompt_format.write_calls(
        [(call["name"], members(call["arguments"])) for call in calls]
    )
    text = _text(message["content"])
    others = {name: value for name, value in message.items() if name != "tool_calls"}
    return others | {"content": f"{text}\n{written}" if text else written}


def _text(content: str | Sequence[Any] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text", "") for part in content if isinstance(part, dict))


def _with_system(text: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Append `text` to the system message, or insert one if there is none."""
    if not messages or messages[0]["role"] not in _SYSTEM_ROLES:
        return [{"role": "system", "content": text}, *messages]
    first, *others = messages
    content = first["content"]
    if isinstance(content, list):
        return [{**first, "content": [*content, {"type": "text", "text": text}]}, *others]
    return [{**first, "content": f"{content}\n\n{text}" if content else text}, *others]


def _plain(value: object) -> object:
    return _decoded(value) if isinstance(value, msgspec.Raw) else value


def _decoded(raw: msgspec.Raw | None) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return None if raw is None else msgspec.json.decode(raw)
    except BAD_JSON:
        return None
