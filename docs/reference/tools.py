"""The built-in tools, from the catalogue that the tools service serves."""

import json
from typing import Any

from heddle.assistant.v1 import assistant_pb2
from heddle.tool.v1 import tool_pb2

from docs.reference import markdown, services


def pages() -> dict[str, str]:
    """Return the page."""
    return page(services.tools())


def page(tools: list[tool_pb2.Tool]) -> dict[str, str]:
    """Return the page of `tools`."""
    rows = ((f"[{each.name}](#{each.name})", each.title, each.description) for each in tools)
    overview = markdown.table(("Tool", "Title", "What it does"), rows)
    return {"tools.md": markdown.page("Built-in tools", overview, *map(_section, tools))}


def _section(tool: tool_pb2.Tool) -> str:
    modes = ", ".join(
        assistant_pb2.Mode.Name(mode).removeprefix("MODE_").lower() for mode in tool.modes
    )
    facts = [
        ("Modes", modes),
        ("Slot", markdown.code(tool.default_slot)),
        ("Category", tool.category),
    ]
    settings = schema_table(json.loads(tool.config_schema_json or "{}"))
    parts = [
        f"## {tool.name}",
        tool.description,
        markdown.table(("Property", "Value"), [fact for fact in facts if fact[1]]),
        f"**Settings of {tool.name}**",
        settings or "None.",
    ]
    for function in tool.functions:
        arguments = schema_table(json.loads(function.parameters_schema_json or "{}"))
        parts += [f"**Function `{function.name}`**", function.description, arguments]
    parts += [
        f"Example: *{example.request}* with `{example.arguments_json}`" for example in tool.examples
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part)


def schema_table(schema: dict[str, Any]) -> str:
    """Return a table of the properties of an object's schema."""
    required = set(schema.get("required", []))
    rows = [
        (
            markdown.code(name),
            kind(each),
            "required"
            if name in required
            else markdown.code(json.dumps(each.get("default"), ensure_ascii=False)),
            each.get("description", ""),
        )
        for name, each in schema.get("properties", {}).items()
    ]
    return markdown.table(("Name", "Type", "Default", "Description"), rows)


def kind(schema: dict[str, Any]) -> str:
    """Return the type of a schema in words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return ", ".join(markdown.code(json.dumps(value)) for value in schema["enum"])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(map(kind, schema[word])))
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}))}"
    types = schema.get("type", "any")
    return " or ".join(types) if isinstance(types, list) else str(types)
