"""Titles, pickers and translations in the schema of a configuration."""

import json
from typing import Annotated, Any

from heddle_tools_service.contract.descriptions import translated
from heddle_tools_service.definitions.schemas import CompiledSchema
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.sdk import (
    Collections,
    Input,
    ToolCall,
    ToolConfig,
    ToolResult,
    tool,
)
from pydantic import BaseModel, Field


class Part(BaseModel):
    city: str = Field(default="", title="City", description="Where.")


class Config(ToolConfig):
    text: Annotated[str, Input("multiline")] = Field(default="", title="Text")
    parts: tuple[Part, ...] = Field(default=(), title="Parts")
    collections: Collections = Field(default=(), max_length=2, title="Collections")
    plain: int = 1


@tool(
    "own",
    title="Own tool",
    label="Own",
    translations={"es": {"Own tool": "Propia", "City": "Ciudad", "Text": "Texto"}},
)
async def own(call: ToolCall[Config]) -> ToolResult:
    """Returns its text."""
    return ToolResult(call.config.text)


def described() -> tuple[Any, dict[str, Any]]:
    [installed] = registry = Registry.of(own)
    description = registry.description(installed.name)
    return description, json.loads(description.config_schema_json)


def test_authors_mark_how_people_fill_in_an_option() -> None:
    description, schema = described()
    options = schema["properties"]
    assert description.label == "Own"
    assert options["text"]["x-heddle-input"] == "multiline"
    assert options["collections"]["x-heddle-input"] == "collections"
    assert options["collections"]["maxItems"] == 2
    assert "x-heddle-input" not in options["plain"]
    assert "title" not in options["plain"]


def test_authors_translate_by_the_english_text() -> None:
    _, schema = described()
    assert schema["x-heddle-i18n"] == {"es": {"title": "Propia"}}
    assert schema["properties"]["text"]["x-heddle-i18n"] == {"es": {"title": "Texto"}}
    city = schema["$defs"]["Part"]["properties"]["city"]
    assert city["x-heddle-i18n"] == {"es": {"title": "Ciudad"}}
    assert "x-heddle-i18n" not in schema["properties"]["plain"]


def test_a_tool_without_a_label_or_titles_works() -> None:
    @tool("plain", title="Plain")
    async def plain(call: ToolCall[Any]) -> ToolResult:
        """Returns the question."""
        return ToolResult(call.query)

    [installed] = registry = Registry.of(plain)
    assert registry.description(installed.name).label == "Plain"


def test_translations_do_not_change_what_a_schema_accepts() -> None:
    _, schema = described()
    values = {"text": "a", "parts": [{"city": "Girona"}], "collections": [7]}
    assert CompiledSchema(schema, dict).read(values)[2] == []
    assert CompiledSchema(schema, dict).read({"collections": ["1", "2", "3"]})[2]


def test_translations_of_an_author_in_the_schema_itself_stay() -> None:
    i18n = {"eu": {"title": "Testua"}}
    option = {"type": "string", "title": "Text", "x-heddle-i18n": i18n}
    schema = {"properties": {"text": option, "any": True}}
    complete = translated(schema, {}, {"es": {"Text": "Texto"}})
    assert complete["properties"]["text"]["x-heddle-i18n"] == i18n
    assert complete["properties"]["any"] is True
