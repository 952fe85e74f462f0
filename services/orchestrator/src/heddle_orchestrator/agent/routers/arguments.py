"""The arguments of a tool that a router chose by name.

The question in its conversation fills free texts. The assistant's model writes the other arguments
by constrained decoding under the tool's JSON Schema, in which texts are choices among parts of the
conversation: small models invent values otherwise.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from heddle.chat.v1 import chat_pb2
from heddle_runtime.contract.json_text import members

from heddle_orchestrator.agent.decision import (
    AskModel,
    Candidate,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.routers.mentioned_values import mentioned_values
from heddle_orchestrator.agent.routers.text_constraints import (
    NoFittingTextError,
    constrained,
    is_text,
    parts_of,
)
from heddle_orchestrator.agent.state import State

_FREE_TEXT = frozenset({"query", "question", "prompt"})
"""Words in the names of arguments that take the whole question."""
_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MAX_TOKENS = 200
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


async def arguments_for(ask: AskModel, state: State, tool: Candidate) -> Mapping[str, Any]:
    """Return the arguments of a tool for the question of a run.

    Raises:
        UndecidedError: The model writes no arguments, or the question contains no text for one.
    """
    properties = tool.schema.get("properties", {})
    arguments: dict[str, Any] = {
        name: _shortened(state.query, schema)
        for name, schema in properties.items()
        if is_free_text(name, schema)
    }
    mentioned = mentioned_values(state, tool)
    required = dict.fromkeys([*tool.schema.get("required", ()), *mentioned])
    names = [name for name in required if name not in arguments]
    if not names:
        return arguments
    question = Question(
        [*_examples(tool, names), message(_USER, _request(tool, names, state.query))],
        max_tokens=_MAX_TOKENS,
        temperature=0.0,
        extra={
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "arguments",
                    "schema": _schema(tool, names, mentioned, state.query),
                    "strict": True,
                },
            }
        },
    )
    decoded = members((await ask(question)).text)
    if not decoded:
        raise UndecidedError(f"The model writes no arguments for {tool.name!r}.")
    return {**arguments, **decoded}


def is_free_text(name: str, schema: Any) -> bool:  # noqa: ANN401 - any JSON Schema
    """Return whether an argument takes the whole question, by its schema and its name."""
    words = {word.lower() for word in _NAME_WORDS.findall(name)}
    return is_text(schema) and "pattern" not in schema and not _FREE_TEXT.isdisjoint(words)


def _shortened(text: str, schema: Mapping[str, Any]) -> str:
    """Return the end of a text, as long as its schema allows: the question is at the end."""
    longest = schema.get("maxLength")
    return text[-longest:] if isinstance(longest, int) and longest > 0 else text


def _schema(
    tool: Candidate, names: Sequence[str], mentioned: Mapping[str, Sequence[str]], text: str
) -> Mapping[str, Any]:
    """Return the tool's schema with some of its arguments only, and texts out of a text."""
    parts = parts_of(text)
    properties = tool.schema.get("properties", {})
    own = {name: tool.schema[name] for name in ("$defs", "definitions") if name in tool.schema}
    schema = {
        "type": "object",
        "properties": {
            name: {"enum": mentioned[name]} if name in mentioned else properties.get(name, {})
            for name in names
        },
        "required": list(names),
        "additionalProperties": False,
        **own,
    }
    try:
        result: Mapping[str, Any] = constrained(schema, parts)
    except NoFittingTextError:
        raise UndecidedError(f"The question contains no text for {tool.name!r}.") from None
    return result


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
