"""The messages of chat completions, and their parts: for validation, and for `/openapi.json`."""

from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler
from pydantic_core import core_schema

from heddle_gateway.http.models import Model, Name

MAX_MESSAGES = 4096
MAX_PARTS = 1024


class _ByType:
    """Selects the model of a union by the member `type`.

    A value without one is of the model whose `type` has a default. A model whose `type` is any text
    takes all other types.
    """

    def __get_pydantic_core_schema__(
        self, union: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the schema of the union."""
        models: dict[str, type[Model]] = {each.__name__: each for each in get_args(union)}
        names: dict[object, str] = {}
        default = other = ""
        for name, model in models.items():
            field = model.model_fields["type"]
            if get_origin(field.annotation) is not Literal:
                other = name
                continue
            names |= dict.fromkeys(get_args(field.annotation), name)
            default = default if field.is_required() else field.default

        def choice(value: object) -> str:
            kind = value.get("type", default) if isinstance(value, dict) else default
            return names.get(kind, other) if isinstance(kind, str) else other

        choices = {name: handler.generate_schema(model) for name, model in models.items()}
        return core_schema.tagged_union_schema(choices, choice)


BY_TYPE = _ByType()


def _url(value: object) -> object:
    """Return an image's address as an object; some clients send only the text."""
    return {"url": value} if isinstance(value, str) else value


class TextPart(Model):
    """Text."""

    type: Literal["text"]
    text: str


class ImageUrl(Model):
    """The address of an image; a `data:` URL in base64 is possible, too."""

    url: Name = Field(json_schema_extra={"pattern": "^https://"})
    detail: Any = None


class ImagePart(Model):
    """An image."""

    type: Literal["image_url"]
    image_url: Annotated[ImageUrl, BeforeValidator(_url)]


class Audio(Model):
    """Audio data."""

    data: Name = Field(json_schema_extra={"contentEncoding": "base64"})
    format: Name = Field(examples=["mp3", "wav"])


class AudioPart(Model):
    """Audio."""

    type: Literal["input_audio"]
    input_audio: Audio


class FileContent(Model):
    """A file in base64, or as a `data:` URL, or the identifier of an uploaded file.

    The model reads the text of a document, of at most 200,000 characters, or sees the picture.
    """

    file_data: Name | None = Field(default=None, json_schema_extra={"contentEncoding": "base64"})
    file_id: str | None = Field(
        default=None,
        description="A file of the caller from `POST /v1/files`, of at most 20 MiB. Files of a "
        "provider cannot be used.",
    )
    filename: str | None = None


class FilePart(Model):
    """A file."""

    type: Literal["file"]
    file: FileContent


class OtherPart(Model):
    """A part that is passed to the provider unchanged."""

    type: Name = Field(
        json_schema_extra={"not": {"enum": ["text", "image_url", "input_audio", "file"]}}
    )


Part = TextPart | ImagePart | AudioPart | FilePart | OtherPart
Content = str | Annotated[list[Annotated[Part, BY_TYPE]], Field(max_length=MAX_PARTS)]


class FunctionCall(Model):
    """A call of a function."""

    name: Name
    arguments: str | dict[str, Any] | None = None


class Call(Model):
    """A call of a client's function."""

    id: Name
    function: FunctionCall


def _function_calls(calls: object) -> object:
    """Return calls; None if one is not of a function: then the provider gets all unchanged."""
    items = calls if isinstance(calls, list) else ()
    foreign = any(isinstance(call, dict) and "function" not in call for call in items)
    return None if foreign else calls


class UserMessage(Model):
    """A message of the user or the system."""

    role: Literal["system", "developer", "user"]
    content: Content
    name: str | None = None


class AssistantMessage(Model):
    """A message of the assistant."""

    role: Literal["assistant"]
    content: Content | None = None
    name: str | None = None
    tool_calls: Annotated[
        Annotated[list[Call], Field(max_length=MAX_MESSAGES)] | None,
        BeforeValidator(_function_calls, json_schema_input_type=list[Any] | None),
    ] = Field(
        default=None,
        description="Objects with `id` and `function`, a `name` and `arguments`. If one has "
        "another form, all are passed to the provider unchanged.",
    )
    function_call: FunctionCall | None = None


class ToolMessage(Model):
    """The result of a tool call."""

    role: Literal["tool"]
    content: Content
    name: str | None = None
    tool_call_id: Name


class FunctionMessage(Model):
    """The result of a function call, in OpenAI's older form."""

    role: Literal["function"]
    content: Content
    name: Name


def _with_one_role(message: object) -> object:
    """Return a message with its role; OpenAI's SDK joins the roles of all chunks of a stream."""
    if not isinstance(message, dict) or message.get("role") in (None, "user", "assistant"):
        return message
    is_joined = str(message["role"]).replace("assistant", "") == ""
    return {**message, "role": "assistant"} if is_joined else message


Message = Annotated[
    Annotated[
        UserMessage | AssistantMessage | ToolMessage | FunctionMessage, Field(discriminator="role")
    ],
    BeforeValidator(_with_one_role),
]
