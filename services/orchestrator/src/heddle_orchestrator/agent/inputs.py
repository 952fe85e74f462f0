"""What a tool is called with: read from the request where that can be, else copied by a model.

Each input's schema says what of the request it could be: numbers, days, addresses and choices are
found by code, and of other texts the model may only copy a piece. So a small model cannot make
anything up, and where one value is left for each input, it is not asked at all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent import numbers
from heddle_orchestrator.agent.decision import Ask, Candidate, Question, UndecidedError, message
from heddle_orchestrator.agent.rules import inputs_for
from heddle_orchestrator.agent.spans import arithmetic, file_names, is_clause, pieces, quoted, told
from heddle_orchestrator.agent.values import number_places, plain, values_in
from heddle_orchestrator.agent.words import listed, stems, telling, words

_SHORTEST = 20
_LONGEST_INPUTS = 200
"""Tokens."""
_LONGEST_READ = 2_000
"""Characters of a request in which inputs are looked for."""
_LONGEST_TEXT = 20_000
"""Characters of one that hands over a text."""
_USER, _MODEL = chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT
_WHOLE = listed("query q question prompt request search problem issue task instruction")
"""Names of inputs that want the request as it is."""
_TEXTS = listed("text body message content sentence phrase passage paragraph note comment")
"""Names of inputs that a request hands over as they are."""
_SUMS = listed("expression formula calculation equation sum")
_FILES = listed("file filename document path attachment")
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
_Inputs = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Input:
    """One input of a tool, and how its examples use it."""

    name: str
    schema: Mapping[str, Any]
    needed: bool
    shown: Sequence[tuple[str, Any]]
    """Requests of examples with its value."""

    @property
    def numeric(self) -> bool:
        return self.schema.get("type") in ("integer", "number") and "enum" not in self.schema

    @property
    def copied(self) -> bool:
        """Whether the examples, if there are any, take it out of their requests."""
        return all(
            str(value).casefold() in asked.casefold()
            or value in (values_in(asked, self.name, self.schema) or ())
            for asked, value in self.shown
        )


async def filled_in(request: Ask, prompt: str, tool: Candidate) -> _Inputs:
    """Return what a tool is called with.

    Only what the tool needs, what its examples show and what the request speaks of is filled in:
    what is left out has its default, which is better than what a small model makes up.

    Raises:
        UndecidedError: The model writes something else.
    """
    examples = [(asked, _members(text)) for asked, text in tool.examples]
    wanted = _wanted(prompt, tool, examples)
    properties = wanted["properties"]
    settled = {
        name: each["enum"][0]
        for name, each in properties.items()
        if name in wanted["required"] and len(each.get("enum", ())) == 1
    }
    if len(settled) == len(properties):
        return settled
    wanted |= {
        "properties": {name: properties[name] for name in properties if name not in settled},
        "required": [name for name in wanted["required"] if name not in settled],
    }
    schema = {"name": "inputs", "schema": wanted, "strict": True}
    question = Question(
        [*_shown(tool, examples), message(_USER, _asked(prompt, tool))],
        max_tokens=_LONGEST_INPUTS,
        temperature=0.0,
        extra={"response_format": {"type": "json_schema", "json_schema": schema}},
    )
    inputs = _members((await request(question)).text)
    if not inputs and "query" in properties:  # any words will do
        inputs = dict(inputs_for(tool, prompt) or {})
    if not inputs and wanted["required"]:
        raise UndecidedError(f"The model fills in no inputs of {tool.name!r}.")
    return {
        name: {**settled, **inputs}[name] for name in properties if name in {**settled, **inputs}
    }


def evidence(prompt: str, tool: Candidate) -> float:
    """Return what speaks for a tool in what a request holds for its inputs.

    A choice of it that the request mentions counts 1, a number, a day or the like that it needs
    one half, and one that is missing -1.
    """
    total = 0.0
    for each in _inputs_of(tool, ()):
        values = _values(prompt, each)
        if values is None or each.schema.get("type") == "boolean":
            continue
        if "enum" in each.schema:
            total += bool(values)
        elif each.needed:
            total += 0.5 if values else -1.0
    return total


def _wanted(
    prompt: str, tool: Candidate, examples: Sequence[tuple[str, _Inputs]]
) -> dict[str, Any]:
    """Return the tool's schema, narrowed to what the request holds."""
    found = _inputs_of(tool, examples)
    count = {each.name: each for each in found if each.numeric}
    given = numbers.assigned(
        prompt[:_LONGEST_READ],
        {name: each.schema for name, each in count.items()},
        [name for name, each in count.items() if each.needed],
    )
    given |= _in_turn(prompt, [each for each in found if each.needed and "enum" in each.schema])
    taken = _taken(prompt, found, given)
    properties: dict[str, Any] = {}
    required = []
    for each in found:
        narrowed = (
            {"enum": [given[each.name]]}
            if each.name in given
            else _narrowed(prompt, tool, each, found, taken)
        )
        if narrowed is not None:
            properties[each.name] = narrowed
            if each.needed or len(narrowed.get("enum", ())) == 1:
                required.append(each.name)
    made = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return made | ({"$defs": tool.schema["$defs"]} if "$defs" in tool.schema else {})


def _inputs_of(tool: Candidate, examples: Sequence[tuple[str, _Inputs]]) -> list[_Input]:
    needed = tool.schema.get("required", ())
    return [
        _Input(
            name,
            plain(schema, tool.schema),
            name in needed,
            [(asked, shown[name]) for asked, shown in examples if name in shown],
        )
        for name, schema in tool.schema.get("properties", {}).items()
    ]


def _taken(prompt: str, found: Sequence[_Input], given: Mapping[str, Any]) -> list[str]:
    """Return the places of a request that numbers, days, addresses and codes are read from."""
    typed = [
        str(value)
        for each in found
        if each.schema.get("type") == "string" and "enum" not in each.schema
        for value in _values(prompt, each) or ()
    ]
    values = [value for value in given.values() if not isinstance(value, str)]
    figures = [
        prompt[start:end]
        for start, end, value in number_places(prompt[:_LONGEST_READ])
        if value in values
    ]
    return [each for each in typed + figures if each in prompt]


def _in_turn(prompt: str, found: Sequence[_Input]) -> dict[str, Any]:
    """Return values for inputs with the same choices, as the request names them one by one."""
    given: dict[str, Any] = {}
    for each in found:
        alike = [other for other in found if other.schema["enum"] == each.schema["enum"]]
        values = _values(prompt, each) or []
        if len(alike) > 1 and len(values) == len(alike):
            given[each.name] = values[alike.index(each)]
    return given


def _narrowed(
    prompt: str, tool: Candidate, each: _Input, beside: Sequence[_Input], taken: Sequence[str]
) -> dict[str, Any] | None:
    """Return the schema of one input with what the request holds for it; None leaves it out."""
    values = None if each.numeric else _values(prompt, each)
    if each.schema.get("type") == "boolean":
        spoken = values == [False] or _spoken_of(each, prompt)
        return {"enum": values} if each.needed or spoken else None
    if not values and "enum" in each.schema:
        values = _hinted(prompt, tool, each)
    if values:
        return {"enum": values}
    if values is not None or each.schema.get("type") != "string":
        return _ended(each.schema, len(prompt)) if each.needed else None
    if not each.needed and not each.shown and not _spoken_of(each, prompt):
        return None
    if not each.copied:
        return _ended(each.schema, len(prompt))
    texts = _texts(prompt, tool, each, beside, taken)
    return {"enum": texts} if texts else _ended(each.schema, len(prompt))


def _hinted(prompt: str, tool: Candidate, each: _Input) -> list[Any]:
    """Return the values that go with words of the request in the tool's examples.

    Only with words that are not in other examples, nor copied into another input.
    """
    hints = [
        (value, stems(telling(asked)) - stems(words(" ".join(map(str, _members(text).values())))))
        for asked, text in tool.examples
        if (value := _members(text).get(each.name)) is not None
    ]
    said = stems(telling(prompt))
    elsewhere = stems(
        word
        for asked, text in tool.examples
        if each.name not in _members(text)
        for word in telling(asked)
    )
    return list(dict.fromkeys(value for value, hint in hints if (hint - elsewhere) & said))


def _values(prompt: str, each: _Input) -> list[Any] | None:
    return values_in(prompt[:_LONGEST_READ], each.name, each.schema)


def _spoken_of(each: _Input, prompt: str) -> bool:
    return bool(stems(words(each.name.replace("_", " "))) & stems(words(prompt)))


def _texts(
    prompt: str, tool: Candidate, each: _Input, beside: Sequence[_Input], taken: Sequence[str]
) -> list[str]:
    """Return the pieces of a request that could be an input."""
    called = words(each.name.replace("_", " "))
    if _WHOLE & set(called) and not each.shown:
        return [prompt]
    if found := quoted(prompt[:_LONGEST_TEXT]):
        return found
    if _TEXTS & set(called) and (found := [told(prompt[:_LONGEST_TEXT])]) != [""]:
        return found
    prompt = prompt[:_LONGEST_READ]
    if (_SUMS & set(called)) and (sums := arithmetic(prompt)):
        return [sums]
    if (_FILES & set(called)) and (files := file_names(prompt)):
        return files
    said = [tool.description, tool.name.replace("_", " ")]
    said += [other.name.replace("_", " ") for other in beside]
    known = stems(word for text in said for word in words(text))
    clauses = bool(_TEXTS & set(called)) or any(is_clause(str(value)) for _, value in each.shown)
    return pieces(prompt, known, taken, clauses=clauses)


def _ended(schema: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """Return a schema with an end to every text: small models ramble."""
    if schema.get("type") != "string" or "enum" in schema:
        return dict(schema)
    most = max(longest, schema.get("minLength", 0), _SHORTEST)
    return {**schema, "maxLength": min(most, schema.get("maxLength", most))}


def _shown(tool: Candidate, examples: Sequence[tuple[str, _Inputs]]) -> list[chat_pb2.Message]:
    if examples:
        task = f"{tool.description} Write its inputs as JSON, with words of the request."
        pairs = [(asked, shown) for asked, shown in examples]
    else:
        task = _COPY
        pairs = [(f"{does}\nRequest: {asked}", shown) for does, asked, shown in _STRANGE]
    turns = [message(chat_pb2.ROLE_SYSTEM, task)]
    for asked, shown in pairs:
        turns += [message(_USER, asked), message(_MODEL, json.dumps(shown, ensure_ascii=False))]
    return turns


def _asked(prompt: str, tool: Candidate) -> str:
    if tool.examples:
        return prompt
    names = ", ".join(tool.schema.get("properties", {}))
    return f"{tool.description} Inputs: {names}\nRequest: {prompt}"


def _members(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
