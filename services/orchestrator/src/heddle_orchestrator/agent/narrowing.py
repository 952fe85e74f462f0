"""A tool's schema, narrowed to what a request holds for its inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

from heddle_orchestrator.agent import numbers
from heddle_orchestrator.agent.argument import LONGEST_READ, Input, inputs_of
from heddle_orchestrator.agent.decision import Candidate
from heddle_orchestrator.agent.spans import arithmetic, file_names, is_clause, pieces, quoted, told
from heddle_orchestrator.agent.values import number_places
from heddle_orchestrator.agent.words import listed, stems, words

_SHORTEST = 20
_LONGEST_TEXT = 20_000
"""Characters of a request that hands over a text."""
_WHOLE = listed("query q question prompt request search problem issue task instruction")
"""Names of inputs that want the request as it is."""
_TEXTS = listed("text body message content sentence phrase passage paragraph note comment")
"""Names of inputs that a request hands over as they are."""
_SUMS = listed("expression formula calculation equation sum")
_FILES = listed("file filename document path attachment")


def narrowed(prompt: str, tool: Candidate) -> dict[str, Any]:
    """Return the schema of what a request leaves to say about a tool's inputs.

    What it settles is an `enum` of one, and required. Inputs that may be left out and that nothing
    speaks of are not among its properties.
    """
    found = inputs_of(tool)
    count = {each.name: each for each in found if each.numeric}
    given = numbers.assigned(
        prompt[:LONGEST_READ],
        {name: each.schema for name, each in count.items()},
        [name for name, each in count.items() if each.needed],
    )
    given |= _in_turn(prompt, [each for each in found if each.needed and "enum" in each.schema])
    taken = _taken(prompt, found, given)
    properties: dict[str, Any] = {}
    required = []
    for each in found:
        made = (
            {"enum": [given[each.name]]}
            if each.name in given
            else _narrowed(prompt, tool, each, found, taken)
        )
        if made is not None:
            properties[each.name] = made
            if each.needed or len(made.get("enum", ())) == 1:
                required.append(each.name)
    whole = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return whole | ({"$defs": tool.schema["$defs"]} if "$defs" in tool.schema else {})


def _taken(prompt: str, found: Sequence[Input], given: Mapping[str, Any]) -> list[str]:
    """Return the places of a request that numbers, days, addresses and codes are read from."""
    typed = [
        str(value)
        for each in found
        if each.schema.get("type") == "string" and "enum" not in each.schema
        for value in each.values(prompt) or ()
    ]
    values = [value for value in given.values() if not isinstance(value, str)]
    figures = [
        prompt[start:end]
        for start, end, value in number_places(prompt[:LONGEST_READ])
        if value in values
    ]
    return [each for each in typed + figures if each in prompt]


def _in_turn(prompt: str, found: Sequence[Input]) -> dict[str, Any]:
    """Return values for inputs with the same choices, as the request names them one by one."""
    given: dict[str, Any] = {}
    for each in found:
        alike = [other for other in found if other.schema["enum"] == each.schema["enum"]]
        values = each.values(prompt) or []
        if len(alike) > 1 and len(values) == len(alike):
            given[each.name] = values[alike.index(each)]
    return given


def _narrowed(
    prompt: str, tool: Candidate, each: Input, beside: Sequence[Input], taken: Sequence[str]
) -> dict[str, Any] | None:
    """Return the schema of one input with what the request holds for it; None leaves it out."""
    values = None if each.numeric else each.values(prompt)
    if each.schema.get("type") == "boolean":
        spoken = each.spoken_of(prompt)
        return {"enum": values} if each.needed or spoken else None
    if not values and "enum" in each.schema:
        values = each.hinted(prompt)
    if values:
        return {"enum": values}
    if values is not None or each.schema.get("type") != "string":
        return _ended(each.schema, len(prompt)) if each.needed else None
    if not each.needed and not each.shown and not each.spoken_of(prompt):
        return None
    if not each.copied:
        return _ended(each.schema, len(prompt))
    texts = _texts(prompt, tool, each, beside, taken)
    return {"enum": texts} if texts else _ended(each.schema, len(prompt))


def _texts(
    prompt: str, tool: Candidate, each: Input, beside: Sequence[Input], taken: Sequence[str]
) -> list[str]:
    """Return the pieces of a request that could be an input."""
    called = each.called
    if _WHOLE & called and not each.shown:
        return [prompt]
    if found := quoted(prompt[:_LONGEST_TEXT]):
        return found
    if _TEXTS & called and (found := [told(prompt[:_LONGEST_TEXT])]) != [""]:
        return found
    prompt = prompt[:LONGEST_READ]
    if _SUMS & called and (sums := arithmetic(prompt)):
        return [sums]
    if _FILES & called and (files := file_names(prompt)):
        return files
    said = [tool.description, tool.name.replace("_", " ")]
    said += [other.name.replace("_", " ") for other in beside]
    known = stems(word for text in said for word in words(text))
    clauses = bool(_TEXTS & called) or any(is_clause(str(value)) for _, value in each.shown)
    return pieces(prompt, known, taken, clauses=clauses)


def _ended(schema: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """Return a schema with an end to every text: small models ramble."""
    if schema.get("type") != "string" or "enum" in schema:
        return dict(schema)
    most = max(longest, schema.get("minLength", 0), _SHORTEST)
    return {**schema, "maxLength": min(most, schema.get("maxLength", most))}
