"""The models that authors of tools describe configurations and arguments with."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
IDENTIFIER = "identifier"
"""The format of a schema whose texts clients may write as numbers."""
_MAX_QUERY_CHARS = 10_000


class _PlainSchema(GenerateJsonSchema):
    """A JSON Schema without the titles that pydantic makes of the names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        json_schema = super().model_schema(schema)
        if schema["cls"].model_config.get("title") is None:
            json_schema.pop("title", None)
        return json_schema


Identifier = Annotated[str, Field(json_schema_extra={"format": IDENTIFIER})]
"""The type of an option that holds an identifier. Numbers are accepted, and become texts."""


InputKind = Literal["collections", "collection", "rubric", "file", "model", "secret", "multiline"]


@dataclass(frozen=True, slots=True)
class Input:
    """How a form lets people fill in an option: `Annotated[str, Input("multiline")]`.

    `collections`, `collection`, `rubric`, `file` (an uploaded one) and `model` are chosen from a
    list, `secret` is not shown, and `multiline` is a large field. Clients may ignore it.
    """

    kind: InputKind

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the kind to the JSON Schema of the option."""
        return {**handler(schema), "x-heddle-input": self.kind}


Collections = Annotated[tuple[Identifier, ...], Input("collections")]
"""The type of an option that names collections of knowledge."""


class ToolConfig(BaseModel):
    """Base of a tool's configuration: its fields, their defaults and limits are what clients see.

    Unknown members are refused. Give every field a `title` and a `description`: forms show them.
    Mark a field with `Input` where people choose from a list.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoOptions(ToolConfig):
    """Nothing can be set."""


class ToolArguments(BaseModel):
    """Base of what a model fills in when it calls a tool.

    Unknown members are refused. Describe every field: the description is what the model knows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoArguments(ToolArguments):
    """Nothing is filled in."""


class Query(ToolArguments):
    """The arguments of a tool that has none of its own. They become `ToolCall.query`."""

    query: str = Field(
        min_length=1, max_length=_MAX_QUERY_CHARS, description="What to look for, in plain words."
    )


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of a configuration."""
    return {
        "$schema": SCHEMA_DIALECT,
        **model.model_json_schema(schema_generator=_PlainSchema),
    }


def arguments_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of arguments, as providers take it."""
    schema = model.model_json_schema(schema_generator=_PlainSchema)
    schema.pop("description", None)  # the docstring, which is not for models
    return schema
