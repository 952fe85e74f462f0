"""Constrains the texts of a JSON Schema to parts of a conversation.

A model that decodes under the constrained schema cannot invent words.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from heddle_orchestrator.agent.schema_cache import compiled

TIME_FORMATS = frozenset({"date", "time", "date-time"})
"""Formats that users rarely write as the schema requires."""
_BY_NAME = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE = frozenset({"items", "additionalProperties", "contains"})
_OTHER_THAN_TEXT = frozenset({"enum", "const", "$ref", *_BY_NAME, *_LISTS, *_SINGLE})
"""Members that show that a schema without a type is not a schema of texts."""
_MAX_CHARS = 2_000
"""The maximum length of the end of the conversation whose parts can be arguments."""
_MAX_PART_WORDS = 6
_MAX_PARTS = 150
"""More parts make the grammar slow."""
_PUNCTUATION = "¿¡.,;:!?\"'()[]«»“”‘’"  # noqa: RUF001 - typographic quotation marks are intended
_PATTERN_PARTS = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.")
"""The character classes and the escapes of a pattern."""


class NoFittingTextError(Exception):
    """Raised if no part of the text fits the schema of an argument."""


def is_text(schema: Any) -> bool:  # noqa: ANN401 - any JSON Schema
    """Return whether a schema is of a text that may have any words."""
    return (
        isinstance(schema, dict)
        and schema.get("type") == "string"
        and not schema.keys() & {"enum", "const"}
        and schema.get("format") not in TIME_FORMATS
    )


def constrained(schema: Any, parts: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON Schema
    """Return a schema in which each text is a choice among the parts that fit it.

    A text with a pattern that no part fits must fit its pattern. Texts with a list of values, dates
    and times stay as they are.

    Raises:
        NoFittingTextError: No part fits a text that has no pattern.
    """
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if isinstance(kind, list) and "string" in kind:
        others = [each for each in kind if each != "string"]
        one_of = [{**schema, "type": "string"}, {**schema, "type": others}]
        return {"anyOf": [constrained(each, parts) for each in one_of if each["type"]]}
    if kind is None and not schema.keys() & _OTHER_THAN_TEXT:
        texts = constrained({**schema, "type": "string"}, parts)
        return {"anyOf": [texts, {"type": "number"}, {"type": "boolean"}]}
    if is_text(schema):
        return _choice(schema, parts)
    return {name: _member(name, value, parts) for name, value in schema.items()}


def _member(name: str, value: Any, parts: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON Schema
    if name in _BY_NAME and isinstance(value, dict):
        return {key: constrained(each, parts) for key, each in value.items()}
    if name in _LISTS and isinstance(value, list):
        return [constrained(each, parts) for each in value]
    return constrained(value, parts) if name in _SINGLE else value


def _choice(schema: Mapping[str, Any], parts: Sequence[str]) -> Mapping[str, Any]:
    if fitting := _fitting(schema, parts):
        return {"enum": fitting}
    if isinstance(pattern := schema.get("pattern"), str):
        return {
            **schema,
            "pattern": _PATTERN_PARTS.sub(
                lambda part: part[0].replace(r"\d", "0-9" if part[0].startswith("[") else "[0-9]"),
                pattern,
            ),
        }
    raise NoFittingTextError


def any_fits(schema: Mapping[str, Any], parts: Sequence[str]) -> bool:
    """Return whether a part fits a schema."""
    return bool(_fitting(schema, parts))


def _fitting(schema: Mapping[str, Any], parts: Sequence[str]) -> list[str]:
    validator = compiled(schema)
    return list(validator.fitting(parts)) if validator else list(parts)


def parts_of(text: str) -> list[str]:
    """Return all runs of up to six words, without punctuation around them, shortest first.

    The last one is the whole text, or the end of a long one. At most 151.
    """
    text = text[-_MAX_CHARS:]
    words = text.split()
    runs = (
        " ".join(words[first : first + length]).strip(_PUNCTUATION)
        for length in range(1, _MAX_PART_WORDS + 1)
        for first in range(len(words) - length + 1)
    )
    distinct = [run for run in dict.fromkeys(runs) if run][:_MAX_PARTS]
    whole = text.strip().strip(_PUNCTUATION)
    return [*distinct, *([whole] if whole and whole not in distinct else [])]
