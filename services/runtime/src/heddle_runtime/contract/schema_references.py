"""Limits on the references of JSON Schemas that come from outside.

References let a few lines expand without end: with twenty definitions that each refer twice to the
next, a single number is checked a million times. So the number of references in a schema is
limited, and a budget limits how often they are followed while a value is checked.
"""

import json
from collections.abc import Mapping
from typing import Any

BUDGET_KEYWORD = "heddle-reference-budget"
MAX_DEPTH = 200
MAX_REFERENCES = 1_000
MAX_SCHEMA_CHARACTERS = 250_000
_NAMED_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("const", "enum", "default", "examples")
_REFERENCES = ("$ref", "$dynamicRef")


class ReferenceBudget:
    """Counts the references that are followed. `limit` applies to one check."""

    __slots__ = ("followed", "limit")

    def __init__(self) -> None:
        self.followed = 0
        self.limit = 0

    @property
    def exceeded(self) -> bool:
        """Whether a check stopped following references."""
        return self.followed > self.limit

    def start(self, limit: int) -> None:
        """Start a check."""
        self.followed, self.limit = 0, limit

    def keyword(self) -> type:
        """Return the keyword that stands before each reference: valid while budget remains."""
        budget = self

        class Keyword:
            def __init__(self, _schema: object, _value: object, _place: object) -> None:
                pass

            def validate(self, _instance: object) -> None:
                budget.followed += 1
                if budget.exceeded:
                    raise ValueError

        return Keyword


class _Rewriting:
    def __init__(self) -> None:
        self._references = 0

    def schema(self, schema: object, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        if isinstance(schema, list):
            return [self.schema(item, depth + 1) for item in schema]
        if not isinstance(schema, Mapping):
            return schema
        rewritten: dict[str, Any] = {
            name: self._keyword(name, value, depth + 1) for name, value in schema.items()
        }
        for name in _REFERENCES:
            if isinstance(rewritten.get(name), str):
                self._references += 1
                if self._references > MAX_REFERENCES:
                    raise ValueError(f"it has more than {MAX_REFERENCES} references")
                guarded = {"if": {BUDGET_KEYWORD: True}, "then": {name: rewritten.pop(name)}}
                # At the end: references to the other members of the list stay valid.
                rewritten["allOf"] = [*rewritten.get("allOf", []), guarded]
        return rewritten

    def _keyword(self, name: str, value: Any, depth: int) -> object:  # noqa: ANN401 - any JSON
        if name in _DATA:
            return value
        if name in _NAMED_SCHEMAS and isinstance(value, Mapping):
            return {each: self.schema(inner, depth + 1) for each, inner in value.items()}
        return self.schema(value, depth)


def limited(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in which `BUDGET_KEYWORD` stands before each reference.

    Raises:
        ValueError: It exceeds a limit or is not JSON.
    """
    if len(json.dumps(schema)) > MAX_SCHEMA_CHARACTERS:
        raise ValueError(f"it has more than {MAX_SCHEMA_CHARACTERS:,} characters")
    rewritten = _Rewriting().schema(schema, 1)
    assert isinstance(rewritten, dict)  # noqa: S101 - for the type checker
    return rewritten
