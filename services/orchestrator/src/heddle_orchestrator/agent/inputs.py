"""What a tool is called with: read from the request where that can be, else copied by a model.

Each input's schema says what of the request it could be: numbers, days, addresses and choices are
found by code, and of other texts the model may only copy a piece. So a small model cannot make
anything up, and where one value is left for each input, it is not asked at all.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.argument import members
from heddle_orchestrator.agent.decision import Ask, Candidate, Question, UndecidedError, message
from heddle_orchestrator.agent.narrowing import narrowed
from heddle_orchestrator.agent.rules import inputs_for

_LONGEST_INPUTS = 200
"""Tokens."""
_USER, _MODEL = chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT
_COPY = "Copy the inputs of the tool out of the request, as JSON."
_STRANGE: Sequence[tuple[str, str, Mapping[str, Any]]] = (
    ("Tells the time. Inputs: place", "What time is it in Tokyo right now?", {"place": "Tokyo"}),
    ("Finds recipes. Inputs: dish", "How do I cook lentil soup?", {"dish": "lentil soup"}),
    (
        "Sends a message. Inputs: to, text",
        "Write to Eva Costa that I am late",
        {"to": "Eva Costa", "text": "I am late"},
    ),
    ("Opens a door. Inputs: door", "The gate 12B has to be opened, please", {"door": "12B"}),
)
"""Tools that are not there, for those that come without examples."""


async def filled_in(request: Ask, prompt: str, tool: Candidate) -> Mapping[str, Any]:
    """Return what a tool is called with.

    Only what the tool needs, what its examples show and what the request speaks of is filled in:
    what is left out has its default, which is better than what a small model makes up.

    Raises:
        UndecidedError: The model writes something else.
    """
    wanted = narrowed(prompt, tool)
    properties, needed = wanted["properties"], wanted["required"]
    settled = {
        name: each["enum"][0]
        for name, each in properties.items()
        if name in needed and len(each.get("enum", ())) == 1
    }
    if len(settled) == len(properties):
        return settled
    wanted |= {
        "properties": {name: properties[name] for name in properties if name not in settled},
        "required": [name for name in needed if name not in settled],
    }
    schema = {"name": "inputs", "schema": wanted, "strict": True}
    question = Question(
        [*_shown(tool), message(_USER, _asked(prompt, tool))],
        max_tokens=_LONGEST_INPUTS,
        temperature=0.0,
        extra={"response_format": {"type": "json_schema", "json_schema": schema}},
    )
    inputs = members((await request(question)).text)
    if not inputs and "query" in properties:  # any words will do
        inputs = dict(inputs_for(tool, prompt) or {})
    if not inputs and wanted["required"]:
        raise UndecidedError(f"The model fills in no inputs of {tool.name!r}.")
    given = {**settled, **inputs}
    return {
        name: given[name]
        for name in properties
        if name in given and (name in needed or not _repeats(name, given))
    }


def _repeats(name: str, given: Mapping[str, Any]) -> bool:
    """Return whether a text is that of another input: a small model says it twice."""
    alike = [other for other, value in given.items() if value == given[name]]
    return isinstance(given[name], str) and len(alike) > 1


def _shown(tool: Candidate) -> list[chat_pb2.Message]:
    """Return the task and how it is done: by the examples of the tool, if it has any."""
    task, pairs = _COPY, [(f"{does}\nRequest: {asked}", shown) for does, asked, shown in _STRANGE]
    if tool.examples:
        task = f"{tool.description} Write its inputs as JSON, with words of the request."
        pairs = [(asked, members(text)) for asked, text in tool.examples]
    turns = [message(chat_pb2.ROLE_SYSTEM, task)]
    for asked, shown in pairs:
        turns += [message(_USER, asked), message(_MODEL, json.dumps(shown, ensure_ascii=False))]
    return turns


def _asked(prompt: str, tool: Candidate) -> str:
    if tool.examples:
        return prompt
    names = ", ".join(tool.schema.get("properties", {}))
    return f"{tool.description} Inputs: {names}\nRequest: {prompt}"
