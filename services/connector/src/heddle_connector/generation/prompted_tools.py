"""Conversations with functions, for models that know them from their prompt only."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from heddle_runtime.errors import InvalidRequestError

from heddle_connector.generation.model_patterns import said_of
from heddle_connector.generation.prompt_formats import STYLES, CallStyle, Result
from heddle_connector.http.provider_errors import BAD_JSON

NATIVE = "native"
WISHES = ("tool_choice", "parallel_tool_calls")
"""Members of a request that mean nothing to a provider that gets no functions."""
_SYSTEM = ("system", "developer")


@dataclass(frozen=True, slots=True)
class PromptedFunctions:
    """Which models are told of functions in their prompt, by patterns of `connector/model`."""

    by_pattern: Mapping[str, str]
    """The first pattern that fits counts; without one, functions are sent beside the prompt."""

    def __post_init__(self) -> None:
        for pattern, name in self.by_pattern.items():
            if name not in (*STYLES, NATIVE):
                raise ValueError(
                    f"There is no way {name!r} of telling {pattern!r} of functions; there are "
                    f"{', '.join([NATIVE, *STYLES])}."
                )

    def style(self, model: str) -> CallStyle | None:
        """Return how `model` is told of functions in its prompt; None if it is not."""
        return STYLES.get(said_of(model, self.by_pattern) or NATIVE)


def prompted(
    style: CallStyle,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any] | msgspec.Raw],
    wishes: Mapping[str, msgspec.Raw],
) -> list[dict[str, Any]]:
    """Return a conversation in which functions, calls and results are text.

    Args:
        style: In which form.
        messages: The conversation in the dialect of OpenAI's chat completions.
        tools: What the model may call, in the same dialect.
        wishes: The request's other members.

    Raises:
        InvalidRequestError: Something else than functions is among `tools`.
    """
    made = list(_as_text(style, messages))
    choice = _decoded(wishes.get("tool_choice"))
    if not tools or choice == "none":
        return made
    parts = [style.describe(list(map(_function, tools)))]
    if choice == "required":
        parts.append("Call at least one function now.")
    elif isinstance(choice, dict) and "function" in choice:
        parts.append(f"Call the function {choice['function'].get('name')} now.")
    if _decoded(wishes.get("parallel_tool_calls")) is False:
        parts.append("Write at most one call at a time.")
    return _with_system("\n".join(parts), made)


def _function(tool: Mapping[str, Any] | msgspec.Raw) -> dict[str, Any]:
    if isinstance(tool, msgspec.Raw):
        raise InvalidRequestError(
            "The model is told of functions in its prompt, and knows no other tools."
        )
    function = tool["function"]
    return {name: _plain(value) for name, value in function.items() if name != "strict"}


def _as_text(style: CallStyle, messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    names: dict[str, str] = {}
    results: list[Result] = []
    for message in messages:
        if message["role"] == "tool":
            name = names.get(message.get("tool_call_id", ""), "")
            results.append((name, _text(message["content"])))
            continue
        if results:
            yield _told(style, results)
            results = []
        calls = message.get("tool_calls")
        names |= {call["id"]: call["function"]["name"] for call in calls or ()}
        yield _written(style, message) if calls else dict(message)
    if results:
        yield _told(style, results)


def _told(style: CallStyle, results: Sequence[Result]) -> dict[str, Any]:
    return {"role": "user", "content": style.results(results)}


def _written(style: CallStyle, message: Mapping[str, Any]) -> dict[str, Any]:
    calls = [call["function"] for call in message["tool_calls"]]
    text = style.write([(call["name"], _arguments(call["arguments"])) for call in calls])
    said = _text(message["content"])
    others = {name: value for name, value in message.items() if name != "tool_calls"}
    return others | {"content": f"{said}\n{text}" if said else text}


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(content: str | Sequence[Any] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text", "") for part in content if isinstance(part, dict))


def _with_system(text: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put `text` behind what the system says, or before all if it says nothing."""
    if not messages or messages[0]["role"] not in _SYSTEM:
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
