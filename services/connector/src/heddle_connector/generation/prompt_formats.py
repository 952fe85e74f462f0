"""The formats in which prompts declare tools and show tool calls and results."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Arguments = Mapping[str, Any]
Result = tuple[str, str]
"""The name of a function, and the text that it returned."""

_LIST_PROMPT = """# Functions

You can call these functions:
<tools>
{functions}
</tools>

A call looks like this, NAME being the function's name:
{example}
Several calls stand one below the other, and nothing below the last. What a function returns comes
in <tool_response>. Call no other functions, and write no result yourself."""
_ARRAY_PROMPT = """# Functions

You can call these functions:
{functions}

To call some, write nothing but a JSON array of calls, NAME being a function's name:
{example}
What they return comes as a JSON array in the same order. Call no other functions, and write no
result yourself. To answer without a call, write text."""


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """A format of prompts for one family of models."""

    declare: Callable[[Sequence[Mapping[str, Any]]], str]
    """Returns the part of the system prompt that declares OpenAI's function objects."""
    write_calls: Callable[[Sequence[tuple[str, Arguments]]], str]
    """Returns the calls of one message as the model writes them."""
    write_results: Callable[[Sequence[Result]], str]
    """Returns the results of calls as a user message."""


def _xml_calls(calls: Sequence[tuple[str, Arguments]]) -> str:
    return "\n".join(_xml_call(name, arguments) for name, arguments in calls)


def _xml_call(name: str, arguments: Arguments) -> str:
    parameters = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else _json(value)}\n</parameter>\n"
        for key, value in arguments.items()
    )
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def _tagged_calls(calls: Sequence[tuple[str, Arguments]]) -> str:
    return "\n".join(f"<tool_call>\n{_json(each)}\n</tool_call>" for each in _objects(calls))


def _array_of_calls(calls: Sequence[tuple[str, Arguments]]) -> str:
    return _json(_objects(calls))


def _objects(calls: Sequence[tuple[str, Arguments]]) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": arguments} for name, arguments in calls]


def _list_declaration(example: str) -> Callable[[Sequence[Mapping[str, Any]]], str]:
    def declare(functions: Sequence[Mapping[str, Any]]) -> str:
        lines = (_json({"type": "function", "function": each}) for each in functions)
        return _LIST_PROMPT.format(functions="\n".join(lines), example=example)

    return declare


def _array_declaration(functions: Sequence[Mapping[str, Any]]) -> str:
    return _ARRAY_PROMPT.format(functions=_json(functions), example=_array_of_calls([_EXAMPLE]))


def _tagged_results(results: Sequence[Result]) -> str:
    # A result must not close the tag: the text after it would count as the user's.
    escaped = (text.replace("</tool_response", "<\\/tool_response") for _, text in results)
    return "\n".join(f"<tool_response>\n{text}\n</tool_response>" for text in escaped)


def _array_of_results(results: Sequence[Result]) -> str:
    array = _json([{"name": name, "result": text} for name, text in results])
    return f"The functions returned:\n{array}"


def _json(value: object) -> str:
    """Return JSON that contains no closing tag."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")


_EXAMPLE: tuple[str, Arguments] = ("NAME", {"an_argument": "its value"})
PROMPT_FORMATS: Mapping[str, PromptFormat] = {
    "qwen3_coder": PromptFormat(
        _list_declaration(_xml_calls([_EXAMPLE])), _xml_calls, _tagged_results
    ),
    "hermes": PromptFormat(
        _list_declaration(_tagged_calls([_EXAMPLE])), _tagged_calls, _tagged_results
    ),
    "xlam": PromptFormat(_array_declaration, _array_of_calls, _array_of_results),
}
"""The formats by name. The parsers of `toolcalls` use the same names."""
