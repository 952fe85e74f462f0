"""Converts values in plain text to the types of the schema."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from heddle_connector.toolcalls.grammars import PYTHON, LiteralError, number
from heddle_connector.toolcalls.json_calls import read_json
from heddle_connector.toolcalls.literals import read_literal

# A text becomes the first of its types that it can be.
_ORDER = ("null", "integer", "number", "boolean", "object", "array", "any", "string")
_ALIASES = {
    "null": ("none", "nil", "nonetype", "undefined", "void"),
    "integer": (
        *("int", "long", "short", "byte", "bigint", "int8", "int16", "int32", "int64"),
        *("uint", "uint8", "uint16", "uint32", "uint64", "biginteger", "timestamp"),
    ),
    "number": ("float", "double", "decimal", "float32", "float64", "numeric", "real", "bigdecimal"),
    "boolean": ("bool",),
    "object": (
        *("dict", "dictionary", "map", "mapping", "hashmap", "hashtable", "struct", "json"),
        *("linkedhashmap", "treemap"),
    ),
    "array": ("list", "tuple", "set", "arraylist", "linkedlist", "vector", "sequence", "hashset"),
    "any": ("unknown", "mixed", "variant"),
    "string": ("str", "text", "varchar", "char", "character", "enum", "date", "datetime", "uuid"),
}
_TYPES = {alias: name for name, aliases in _ALIASES.items() for alias in (name, *aliases)}
_INTEGER = re.compile(r"[+-]?\d+(?:\.0+)?\Z", re.ASCII)
_HEAD = re.compile(r"[a-z]\w*")
_MAX_CONSTANT_LENGTH = 8  # characters, more than any has
_MAX_DEPTH = 8  # references and unions inside of each other


def coerce(text: str, schema: object, root: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return `text` as a value of a type that a schema names; without one, the text itself.

    Args:
        text: What the model wrote, without the line ends around it.
        schema: The JSON schema of the parameter, or None. Names of types of other languages
            (`dict`, `float`, `ArrayList<String>`) are understood.
        root: The schema in which references are looked up.
    """
    types: set[str] = set()
    _collect(schema, root, types, 0)
    for kind in _ORDER:
        if kind in types:
            matched, value = _read(text.strip(), kind)
            if matched:
                return value
    return text if _allows(schema, text) else json_or_text(text)


def json_or_text(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value that `text` writes, else the text."""
    try:
        return read_json(text)
    except ValueError:
        return text


def _allows(schema: object, text: str) -> bool:
    """Return whether the schema permits `text` as a string: it lists `text`, or lists nothing.

    What is not listed is refused when the call is checked. Until then it is what it says it is:
    `true` where `"True"` is listed is not a string.
    """
    listed = schema.get("enum") if isinstance(schema, Mapping) else None
    return not isinstance(listed, list) or text in listed


def _collect(schema: object, root: Mapping[str, Any], types: set[str], depth: int) -> None:
    """Add the types that a schema allows to `types`."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return
    named = schema.get("type")
    for name in named if isinstance(named, list) else [named]:
        if isinstance(name, str) and (head := _HEAD.match(name.lower())):
            types.add(_TYPES.get(head.group(), "string"))
    if schema.get("nullable") is True or schema.get("default", "") is None:
        types.add("null")
    for union in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(union)
        for branch in branches if isinstance(branches, list) else ():
            _collect(branch, root, types, depth + 1)
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: object = root
        for step in reference[2:].split("/"):
            target = target.get(step) if isinstance(target, Mapping) else None
        _collect(target, root, types, depth + 1)
    if not types:
        _infer(schema, types)


def _infer(schema: Mapping[str, Any], types: set[str]) -> None:
    """Add the types that follow from a schema that names none."""
    listed = schema.get("enum")
    values = list(listed) if isinstance(listed, list) else []
    if "const" in schema:
        values.append(schema["const"])
    for value in values:
        match value:
            case None:
                types.add("null")
            case bool():
                types.add("boolean")
            case int():
                types.add("integer")
            case float():
                types.add("number")
            case str():
                types.add("string")
            case _:
                types.add("any")
    if "properties" in schema or "additionalProperties" in schema:
        types.add("object")
    if "items" in schema:
        types.add("array")


def _read(text: str, kind: str) -> tuple[bool, Any]:
    """Return whether `text` is of the type `kind`, and its value."""
    reader = _READERS.get(kind)
    try:
        return (True, reader(text)) if reader else (False, None)
    except ValueError:
        return False, None


def _constant(values: Mapping[str, Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:  # noqa: ANN401 - any JSON value
        word = text[:_MAX_CONSTANT_LENGTH].lower()
        if word not in values:
            raise LiteralError(word)
        return values[word]

    return read


def _integer(text: str) -> int:
    if not _INTEGER.match(text):
        raise LiteralError(text[:40])
    return int(text.partition(".")[0])


def _number(text: str) -> int | float:
    if "_" in text:
        raise LiteralError(text[:40])
    return number(text)


def _of(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:  # noqa: ANN401 - any JSON value
        value = _structure(text)
        if not isinstance(value, kind):
            raise LiteralError(text[:40])
        return value

    return read


def _structure(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value of `text`, or what it means in Python."""
    try:
        return read_json(text)
    except ValueError:
        value, end = read_literal(text, 0, PYTHON)
        if text[end:].strip():
            raise LiteralError(text[end : end + 40]) from None
        return value


_READERS: dict[str, Callable[[str], Any]] = {
    "null": _constant({"null": None, "none": None}),
    "integer": _integer,
    "number": _number,
    "boolean": _constant({"true": True, "1": True, "false": False, "0": False}),
    "object": _of(dict),
    "array": _of(list),
    "any": read_json,
}
"""The readers of texts by type. A string has none: it keeps the space around it."""
