"""The arguments of a tool that a router chose by name.

The user's question fills free-text arguments. The assistant's model writes the other required
arguments by constrained decoding under the tool's JSON Schema. A text must be a part of the
question that fits its schema, because small models invent values otherwise. An optional argument is
filled if its schema lists values and the question contains one of them; the defaults of all others
apply.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.decision import (
    AskModel,
    Candidate,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.schema_cache import compiled
from heddle_orchestrator.json_text import members

_FREE_TEXT = frozenset({"query", "question", "prompt"})
"""Names of arguments that take the whole question."""
_TIME_FORMATS = frozenset({"date", "time", "date-time"})
"""Formats that users rarely write as the schema requires."""
_MAX_TOKENS = 200
_MAX_QUESTION_CHARS = 2_000
"""Characters of a question whose parts can be arguments."""
_MAX_PART_WORDS = 6
_MAX_PARTS = 150
"""More parts make the grammar slow."""
_PATTERN_PARTS = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.")
"""The character classes and the escapes of a pattern."""
_PUNCTUATION = "¿¡.,;:!?\"'()[]«»“”‘’"  # noqa: RUF001 - typographic quotation marks are intended
_USER, _MODEL = chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT
_TASK = "Copy the inputs of the tool out of the request, as JSON."
_DEMONSTRATIONS: Sequence[tuple[str, str, Mapping[str, Any]]] = (
    ("Tells the time. Inputs: place", "What time is it in Tokyo right now?", {"place": "Tokyo"}),
    ("Finds recipes. Inputs: dish", "How do I cook lentil soup?", {"dish": "lentil soup"}),
    (
        "Sends a message. Inputs: to, text",
        "Write to Eva Costa that I am late",
        {"to": "Eva Costa", "text": "I am late"},
    ),
    ("Opens a door. Inputs: door", "The gate 12B has to be opened, please", {"door": "12B"}),
)
"""Shown for tools without examples."""


async def arguments_for(ask: AskModel, prompt: str, tool: Candidate) -> Mapping[str, Any]:
    """Return the arguments of a tool for a question.

    Raises:
        UndecidedError: The model writes no arguments.
    """
    properties = tool.schema.get("properties", {})
    arguments = {name: prompt for name in properties if name in _FREE_TEXT}
    required = [name for name in tool.schema.get("required", ()) if name not in arguments]
    optional = {
        name: {"enum": values}
        for name in properties.keys() - {*required, *arguments}
        if (values := _listed_values(properties[name], prompt))
    }
    names = [*required, *sorted(optional)]
    if not names:
        return arguments
    schema = {
        "type": "object",
        "properties": {name: _constrained(properties.get(name, {}), prompt) for name in required}
        | optional,
        "required": names,
        "additionalProperties": False,
    }
    if "$defs" in tool.schema:
        schema["$defs"] = tool.schema["$defs"]
    question = Question(
        [*_examples(tool, names), message(_USER, _request(tool, names, prompt))],
        max_tokens=_MAX_TOKENS,
        temperature=0.0,
        extra={
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "arguments", "schema": schema, "strict": True},
            }
        },
    )
    decoded = members((await ask(question)).text)
    if not decoded:
        raise UndecidedError(f"The model writes no arguments for {tool.name!r}.")
    return {**arguments, **decoded}


def _constrained(schema: Any, prompt: str) -> Any:  # noqa: ANN401 - any JSON Schema
    """Return the schema of an argument; a text becomes a choice among fitting parts of the prompt.

    The schema stays as it is if no part fits, and for dates and times.
    """
    if not isinstance(schema, dict) or schema.get("type") != "string" or "enum" in schema:
        return schema
    if schema.get("format") in _TIME_FORMATS:
        return schema
    validator = compiled(schema)
    parts = _parts(prompt[:_MAX_QUESTION_CHARS])
    fitting = list(validator.fitting(parts)) if validator else parts
    if fitting:
        return {"enum": fitting}
    pattern = schema.get("pattern")
    return schema | {"pattern": _portable(pattern)} if isinstance(pattern, str) else schema


def _portable(pattern: str) -> str:
    r"""Return a pattern with `[0-9]` for `\d`: llama.cpp ignores patterns with this escape."""
    return _PATTERN_PARTS.sub(
        lambda part: part[0].replace(r"\d", "0-9" if part[0].startswith("[") else "[0-9]"), pattern
    )


def _listed_values(schema: Any, prompt: str) -> list[str]:  # noqa: ANN401 - any JSON Schema
    """Return the texts among the listed values of an argument that the prompt contains as words."""
    listed = schema.get("enum") if isinstance(schema, dict) else None
    texts = [value for value in listed or () if isinstance(value, str) and value]
    question = prompt[:_MAX_QUESTION_CHARS].casefold()
    return [text for text in texts if re.search(rf"\b{re.escape(text.casefold())}\b", question)]


def _parts(text: str) -> list[str]:
    """Return all runs of up to six words, without punctuation around them, shortest first."""
    words = text.split()
    runs = (
        " ".join(words[first : first + length]).strip(_PUNCTUATION)
        for length in range(1, _MAX_PART_WORDS + 1)
        for first in range(len(words) - length + 1)
    )
    return [run for run in dict.fromkeys(runs) if run][:_MAX_PARTS]


def _examples(tool: Candidate, names: Sequence[str]) -> list[chat_pb2.Message]:
    """Return the task and demonstrations: the tool's examples, or general ones if it has none."""
    if tool.examples:
        task = f"{tool.description} Write its inputs as JSON, with words of the request."
        pairs = [
            (request, {name: value for name, value in members(text).items() if name in names})
            for request, text in tool.examples
        ]
    else:
        task = _TASK
        pairs = [
            (f"{description}\nRequest: {request}", dict(arguments))
            for description, request, arguments in _DEMONSTRATIONS
        ]
    messages = [message(chat_pb2.ROLE_SYSTEM, task)]
    for request, arguments in pairs:
        messages.append(message(_USER, request))
        messages.append(message(_MODEL, json.dumps(arguments, ensure_ascii=False)))
    return messages


def _request(tool: Candidate, names: Sequence[str], prompt: str) -> str:
    if tool.examples:
        return prompt
    return f"{tool.description} Inputs: {', '.join(names)}\nRequest: {prompt}"
