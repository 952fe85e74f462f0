"""The base classes of configurations and arguments of tools."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
IDENTIFIER = "identifier"
"""The format in the schema of texts that clients may write as numbers."""
_MAX_QUERY_CHARS = 10_000


class _PlainSchema(GenerateJsonSchema):
    """A JSON Schema without the titles that pydantic derives from names."""

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
    """Selects the form field for an option: `Annotated[str, Input("multiline")]`.

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
    """Base of a tool's configuration. Clients see its fields, with their defaults and limits.

    Unknown members are refused. Give every field a `title` and a `description` for forms. Mark a
    field with `Input` if people choose its value from a list.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoOptions(ToolConfig):
    """The configuration of a tool without options."""


class ToolArguments(BaseModel):
    """Base of the arguments with which a model calls a tool.

    Unknown members are refused. Describe every field: a model knows nothing else about it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoArguments(ToolArguments):
    """The arguments of a function that has none."""


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
