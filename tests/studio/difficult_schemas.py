"""Schemas that are hard to draw as a form, what a user does in each, and what is saved then."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
Step = tuple[str, ...]
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
_DEFINITION = """
import json

def get_definition():
    return {{
        "name": {name!r}, "display_name": {title!r}, "description": "Has options.",
        "placeholder": {name!r}, "config_schema": json.loads({schema!r}),
    }}

def tool_processor(request, assistant, tool_config):
    return {{"content": "", "sources": []}}
"""


@dataclass(frozen=True)
class Case:
    """A schema.

    The first word of a step is what the user does: `begin` an optional object, `add` an item,
    `name` a member, `fill` a text, `choose` a value, or the `form` of a value. The second is the
    path of the control.
    """

    schema: Schema
    steps: tuple[Step, ...]
    saved: dict[str, Any]
    before: dict[str, Any] = field(default_factory=dict)
    """The options that the tool has before, because the schema requires them."""


def members(**properties: Any) -> Schema:
    """Return the schema of an object that has nothing else."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


CASES: dict[str, Case] = {
    "nested": Case(
        members(a=members(b=members(c=TEXT))),
        (("begin", "a"), ("begin", "a.b"), ("fill", "a.b.c", "deep")),
        {"a": {"b": {"c": "deep"}}},
    ),
    "objects_in_a_list": Case(
        members(
            items={
                "type": "array",
                "items": members(name=TEXT, weight={"type": "number"}) | {"required": ["name"]},
            }
        ),
        (
            ("add", "items"),
            ("fill", "items[0].name", "first"),
            ("fill", "items[0].weight", "1.5"),
            ("add", "items"),
            ("fill", "items[1].name", "second"),
        ),
        {"items": [{"name": "first", "weight": 1.5}, {"name": "second"}]},
    ),
    "one_of": Case(
        members(
            source={
                "oneOf": [
                    members(kind={"const": "url"}, url=TEXT)
                    | {"title": "Address", "required": ["kind", "url"]},
                    members(kind={"const": "file"}, path=TEXT)
                    | {"title": "File", "required": ["kind", "path"]},
                ]
            }
        ),
        (("form", "source", "File"), ("fill", "source.path", "a.md")),
        {"source": {"kind": "file", "path": "a.md"}},
    ),
    "nullable": Case(
        members(limit={"anyOf": [WHOLE, {"type": "null"}], "default": 4}, name=TEXT),
        (("fill", "limit", "7"), ("fill", "name", "x"), ("fill", "limit", "")),
        {"limit": None, "name": "x"},
    ),
    "several_types": Case(
        members(value={"type": ["string", "integer"]}),
        (("form", "value", "integer"), ("fill", "value", "12")),
        {"value": 12},
    ),
    "recursive": Case(
        {
            **members(root={"$ref": "#/$defs/node"}),
            "$defs": {
                "node": members(
                    name=TEXT, children={"type": "array", "items": {"$ref": "#/$defs/node"}}
                )
            },
        },
        (
            ("begin", "root"),
            ("fill", "root.name", "top"),
            ("add", "root.children"),
            ("fill", "root.children[0].name", "leaf"),
        ),
        {"root": {"name": "top", "children": [{"name": "leaf"}]}},
    ),
    "all_of": Case(
        {
            "type": "object",
            "allOf": [
                {"properties": {"a": {"type": "string", "maxLength": 3}}},
                {"properties": {"b": WHOLE}, "required": ["b"]},
            ],
        },
        (("fill", "a", "abc"), ("fill", "b", "2")),
        {"a": "abc", "b": 2},
        {"b": 1},
    ),
    "conditions": Case(
        {
            "type": "object",
            "properties": {"scale": {"enum": ["points", "words"]}},
            "if": {"properties": {"scale": {"const": "points"}}, "required": ["scale"]},
            "then": {"properties": {"most": WHOLE}, "required": ["most"]},
            "else": {"properties": {"words": TEXT}},
        },
        (("choose", "scale", "points"), ("fill", "most", "10")),
        {"scale": "points", "most": 10},
    ),
    "pattern": Case(
        members(code={"type": "string", "pattern": "^[A-Z]{3}$"}),
        (("fill", "code", "abc"), ("refused", "code"), ("fill", "code", "ABC")),
        {"code": "ABC"},
    ),
    "two_hundred_members": Case(
        members(**{f"p{number}": TEXT for number in range(200)}),
        (("fill", "p0", "first"), ("fill", "p199", "last")),
        {"p0": "first", "p199": "last"},
    ),
    "free_names": Case(
        members(weights={"type": "object", "additionalProperties": WHOLE}),
        (("begin", "weights"), ("name", "weights", "spelling"), ("fill", "weights.spelling", "3")),
        {"weights": {"spelling": 3}},
    ),
    "tuple": Case(
        members(pair={"type": "array", "prefixItems": [TEXT, WHOLE], "items": False}),
        (
            ("add", "pair"),
            ("add", "pair"),
            ("fill", "pair[0]", "one"),
            ("fill", "pair[1]", "1"),
        ),
        {"pair": ["one", 1]},
    ),
    "values_of_different_types": Case(
        members(level={"enum": [1, "1", True, None]}, other={"enum": ["a", "b"]}),
        (("choose", "level", "true"), ("choose", "other", "b")),
        {"level": True, "other": "b"},
    ),
    "constant": Case(
        members(version={"const": 2}, name=TEXT) | {"required": ["version"]},
        (("fill", "name", "x"),),
        {"version": 2, "name": "x"},
        {"version": 2},
    ),
    "numbers": Case(
        members(
            ratio={"type": "number", "exclusiveMinimum": 0, "maximum": 1, "multipleOf": 0.25},
            small={"type": "number"},
        ),
        (
            ("fill", "ratio", "2"),
            ("refused", "ratio"),
            ("fill", "ratio", "0.75"),
            ("fill", "small", "1e-7"),
        ),
        {"ratio": 0.75, "small": 1e-7},
    ),
    "lists_in_lists": Case(
        members(rows={"type": "array", "items": {"type": "array", "items": WHOLE}}),
        (
            ("add", "rows"),
            ("add", "rows[0]"),
            ("fill", "rows[0][0]", "5"),
        ),
        {"rows": [[5]]},
    ),
    "list_of_values": Case(
        members(
            days={"type": "array", "items": {"enum": ["mon", "tue"]}, "uniqueItems": True},
        ),
        (("add", "days"), ("choose", "days[0]", "tue")),
        {"days": ["tue"]},
    ),
    "anything": Case(
        members(extra=True),
        (("fill", "extra", '{"a": [1, "two"]}'),),
        {"extra": {"a": [1, "two"]}},
    ),
    "strange_names": Case(
        members(**{"größe (cm)": {"type": "number"}, "a b": TEXT, "constructor": TEXT}),
        (
            ("fill", "größe (cm)", "1.5"),
            ("fill", "a b", "x"),
            ("fill", "constructor", "y"),
        ),
        {"größe (cm)": 1.5, "a b": "x", "constructor": "y"},
    ),
    "formats": Case(
        members(
            day={"type": "string", "format": "date"},
            address={"type": "string", "format": "email"},
            page={"type": "string", "format": "uri"},
        ),
        (
            ("fill", "day", "2026-11-26"),
            ("fill", "address", "a@b.example"),
            ("fill", "page", "https://e.example/"),
        ),
        {"day": "2026-11-26", "address": "a@b.example", "page": "https://e.example/"},
    ),
    "rules_between_members": Case(
        members(user=TEXT, secret=TEXT) | {"dependentRequired": {"user": ["secret"]}},
        (
            ("fill", "user", "ann"),
            ("refused", ""),
            ("fill", "secret", "sheep"),
        ),
        {"user": "ann", "secret": "sheep"},
    ),
    "markup": Case(
        members(
            a={
                "type": "string",
                "title": "<img src=x onerror=alert(1)>",
                "description": "<script>alert(2)</script>",
                "default": "'\"><svg onload=alert(3)>",
            }
        ),
        (("fill", "a", "<b>bold</b>"),),
        {"a": "<b>bold</b>"},
    ),
}


def write_tools(folder: Path) -> None:
    """Put a tool for each schema into a folder."""
    for name, case in CASES.items():
        title = name.replace("_", " ").capitalize()
        text = _DEFINITION.format(name=name, title=title, schema=json.dumps(case.schema))
        (folder / f"{name}.py").write_text(text)
