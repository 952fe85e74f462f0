"""How prompts tell models of functions, of calls and of results, in formats that they know."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Arguments = Mapping[str, Any]
Result = tuple[str, str]
"""The function's name, and what it returned."""

_LISTED = """# Functions

You can call these functions:
<tools>
{functions}
</tools>

A call looks like this, NAME being the function's name:
{example}
Several calls stand one below the other, and nothing below the last. What a function returns comes
in <tool_response>. Call no other functions, and write no result yourself."""
_ARRAY = """# Functions

You can call these functions:
{functions}

To call some, write nothing but a JSON array of calls, NAME being a function's name:
{example}
What they return comes as a JSON array in the same order. Call no other functions, and write no
result yourself. To answer without a call, write text."""


@dataclass(frozen=True, slots=True)
class CallStyle:
    """One way of telling of them."""

    describe: Callable[[Sequence[Mapping[str, Any]]], str]
    """Makes a part of the system prompt of OpenAI's function objects."""
    write: Callable[[Sequence[tuple[str, Arguments]]], str]
    """Writes the calls of one message as the model does."""
    results: Callable[[Sequence[Result]], str]
    """Writes what the calls returned, as the user."""


def _write_elements(calls: Sequence[tuple[str, Arguments]]) -> str:
    return "\n".join(_element(name, arguments) for name, arguments in calls)


def _element(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else _json(value)}\n</parameter>\n"
        for key, value in arguments.items()
    )
    return f"<tool_call>\n<function={name}>\n{pairs}</function>\n</tool_call>"


def _write_tagged(calls: Sequence[tuple[str, Arguments]]) -> str:
    return "\n".join(f"<tool_call>\n{_json(each)}\n</tool_call>" for each in _named(calls))


def _write_array(calls: Sequence[tuple[str, Arguments]]) -> str:
    return _json(_named(calls))


def _named(calls: Sequence[tuple[str, Arguments]]) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": arguments} for name, arguments in calls]


def _listing(example: str) -> Callable[[Sequence[Mapping[str, Any]]], str]:
    def describe(functions: Sequence[Mapping[str, Any]]) -> str:
        lines = (_json({"type": "function", "function": each}) for each in functions)
        return _LISTED.format(functions="\n".join(lines), example=example)

    return describe


def _describe_array(functions: Sequence[Mapping[str, Any]]) -> str:
    return _ARRAY.format(functions=_json(functions), example=_write_array([_EXAMPLE]))


def _tagged_results(results: Sequence[Result]) -> str:
    # What a function returns must not end the tag: after it, it would speak as the user.
    inside = (text.replace("</tool_response", "<\\/tool_response") for _, text in results)
    return "\n".join(f"<tool_response>\n{text}\n</tool_response>" for text in inside)


def _array_of_results(results: Sequence[Result]) -> str:
    told = _json([{"name": name, "result": text} for name, text in results])
    return f"The functions returned:\n{told}"


def _json(value: object) -> str:
    """Return JSON in which no tag ends."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")


_EXAMPLE: tuple[str, Arguments] = ("NAME", {"an_argument": "its value"})
STYLES: Mapping[str, CallStyle] = {
    "qwen3_coder": CallStyle(
        _listing(_write_elements([_EXAMPLE])), _write_elements, _tagged_results
    ),
    "hermes": CallStyle(_listing(_write_tagged([_EXAMPLE])), _write_tagged, _tagged_results),
    "xlam": CallStyle(_describe_array, _write_array, _array_of_results),
}
"""By the names that the formats have where answers are read."""
