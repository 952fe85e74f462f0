"""How much work a JSON Schema makes of a value.

References let a few lines unfold without end: twenty definitions, each of which is one of twice the
next, make a million of checks of a single number. A schema without references makes about as many
as it has parts times those of the value.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import unquote

_LISTS = ("allOf", "anyOf", "oneOf")
_ALONE = ("not", "if", "then", "else")
_EACH_MEMBER = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_EACH_ITEM = ("items", "unevaluatedItems", "contains")
_REFERENCES = ("$ref", "$dynamicRef")
_SMALL = 1_000
_MOST_STEPS = 100_000
"""Of counting: a twentieth of a second."""


class FoldedError(ValueError):
    """A schema whose work cannot be counted; the message says why."""


@dataclass(slots=True, eq=False)
class _Part:
    """A schema within a schema, and those that it applies to the same value or to parts of it."""

    same: "list[_Part]" = field(default_factory=list)
    named: "dict[str, list[_Part]]" = field(default_factory=dict)
    members: "list[_Part]" = field(default_factory=list)
    items: "list[_Part]" = field(default_factory=list)

    def all(self) -> "Iterator[_Part]":
        """Yield what it applies to anything."""
        yield from self.same
        yield from self.members
        yield from self.items
        for parts in self.named.values():
            yield from parts


class Unfolding:
    """The parts of a schema, with references resolved."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Look through a valid schema.

        Raises:
            FoldedError: It refers to itself for the same value, to a name (`$anchor`) or another
                document, or has parts with an `$id`, which change what references mean.
        """
        self._document = schema
        self._parts: dict[int, _Part] = {}
        try:
            self._root = self._part(schema)
        except RecursionError:
            raise FoldedError("it is nested too deeply") from None
        parts = self._parts.values()
        if _ordered({part: part.same for part in parts}) is None:  # nobody can say how often
            raise FoldedError("a part refers to itself for the same value")
        order = _ordered({part: list(part.all()) for part in parts})
        self._plain = order is not None and _sizes(order)[self._root] <= _SMALL

    def work(self, value: object) -> int:
        """Return how often a part is applied to a part of `value` at most; 0 if that is little.

        Raises:
            FoldedError: It takes too long to count.
        """
        try:
            return 0 if self._plain else _Count().of(self._root, value)
        except RecursionError:
            raise FoldedError("it is nested too deeply") from None

    def _part(self, schema: object) -> _Part:
        known = self._parts.get(id(schema))
        if known is None:
            known = self._parts[id(schema)] = _Part()
            if isinstance(schema, Mapping):  # else `true` or `false`
                self._fill(known, schema)
        return known

    def _fill(self, part: _Part, schema: Mapping[str, Any]) -> None:
        if "$id" in schema and schema is not self._document:
            raise FoldedError("a part with an $id of its own is not supported")
        part.same += [self._part(inner) for name in _LISTS for inner in schema.get(name, ())]
        part.same += [self._part(schema[name]) for name in _ALONE if name in schema]
        part.same += map(self._part, schema.get("dependentSchemas", {}).values())
        part.same += [self._part(self._at(schema[name])) for name in _REFERENCES if name in schema]
        for name, inner in schema.get("properties", {}).items():
            part.named.setdefault(name, []).append(self._part(inner))
        part.members += map(self._part, schema.get("patternProperties", {}).values())
        part.members += [self._part(schema[name]) for name in _EACH_MEMBER if name in schema]
        part.items += map(self._part, schema.get("prefixItems", ()))
        part.items += [self._part(schema[name]) for name in _EACH_ITEM if name in schema]

    def _at(self, reference: str) -> object:
        """Return what a JSON pointer leads to."""
        if reference != "#" and not reference.startswith("#/"):
            raise FoldedError(f"{reference[:200]!r} is not supported, write #/$defs/NAME")
        found: Any = self._document
        for step in unquote(reference).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
        return found


def _ordered(applied: Mapping[_Part, Iterable[_Part]]) -> list[_Part] | None:
    """Return all parts, each behind those that it applies; None if one applies itself."""
    try:
        return list(TopologicalSorter(applied).static_order())
    except CycleError:
        return None


def _sizes(order: Iterable[_Part]) -> dict[_Part, int]:
    """Return how many parts each unfolds to."""
    sizes: dict[_Part, int] = {}
    for part in order:
        sizes[part] = 1 + sum(sizes[each] for each in part.all())
    return sizes


class _Count:
    """Counts the work that one value makes."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], int] = {}

    def of(self, part: _Part, value: object) -> int:
        """Return how often `part`, and what it applies, is applied."""
        place = id(part), id(value)
        known = self._known.get(place)
        if known is None:
            if len(self._known) == _MOST_STEPS:
                raise FoldedError("the schema is too intricate for it")
            known = 1 + sum(self.of(each, value) for each in part.same)
            known += sum(self.of(each, inner) for each, inner in _applied(part, value))
            self._known[place] = known
        return known


def _applied(part: _Part, value: object) -> Iterator[tuple[_Part, object]]:
    """Yield what a part applies to which parts of a value, or to more."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            for each in (*part.named.get(name, ()), *part.members):
                yield each, inner
    elif isinstance(value, list | tuple):
        for inner in value:
            for each in part.items:
                yield each, inner
