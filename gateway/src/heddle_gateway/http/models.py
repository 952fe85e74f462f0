"""Base class and common types of the models of requests and responses."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeVar

from google.protobuf.message import Message
from heddle_runtime.contract.limits import MAX_PAGE_SIZE
from heddle_runtime.errors import InvalidRequestError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails, core_schema

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.json_text import path_text

ModelT = TypeVar("ModelT")
MAX_EXACT_NUMBER = 2**53


class Model(BaseModel):
    """A request or response; unknown members are ignored."""

    # Most processes never need most models: they are built when they are first used.
    model_config = ConfigDict(defer_build=True, protected_namespaces=())

    @classmethod
    def of(cls, message: Message, **members: object) -> Self:
        """Return the model of a message of a service.

        The model's members have the values of the message's fields of the same names, except those
        in `members`.
        """
        fields = message.DESCRIPTOR.fields_by_name
        own = {name: getattr(message, name) for name in cls.model_fields if name in fields}
        return cls.model_validate(own | members, from_attributes=True)


class StrictModel(Model):
    """A request whose unknown members are rejected, or a response without others."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class DocumentedAs:
    """Documents a value as another type. The gateway does not validate it as that."""

    type: Any = None
    factory: Callable[[], Any] | None = None
    """Returns the type when it is first needed."""

    @property
    def model(self) -> Any:  # noqa: ANN401 - any type
        """The type."""
        return self.factory() if self.factory else self.type

    def __get_pydantic_json_schema__(
        self, _: object, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the other type."""
        kind = adapter(self.model)
        kind.rebuild()
        # A model that is a choice is described once, under its name.
        return handler(core_schema.union_schema([kind.core_schema]))


def _check_false(value: bool) -> bool:  # noqa: FBT001 - the signature of a validator
    if value:
        raise ValueError("must be false")
    return value


# Literal[False] would also accept 0.
OnlyFalse = Annotated[bool, AfterValidator(_check_false), WithJsonSchema({"const": False})]
Text = Annotated[str, Field(pattern=r"^[^\u0000]*$", description="Text without NUL.")]
Name = Annotated[str, Field(min_length=1)]


def identifier_text(value: object) -> object:
    """Return an identifier as text; clients may write it as a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Identifier = Annotated[Name, BeforeValidator(identifier_text, json_schema_input_type=int | Name)]
Seconds = Annotated[int, Field(description="Seconds since 1970.")]
Timestamp = Annotated[int, Field(description="Seconds since 1970, 0 if unknown.")]
PageToken = Annotated[
    str, Field(default="", description="The `next_page_token` of the previous response.")
]
PageSize = Annotated[
    int,
    Field(
        default=0,
        ge=1,
        le=MAX_PAGE_SIZE,
        description="The maximum number of items; 100 by default.",
    ),
]


class ListQuery(Model):
    """The query of a list, one page of it."""

    page_size: PageSize
    page_token: PageToken


def identifier(description: str, *examples: str, pattern: str = "^[A-Za-z0-9_-]+$") -> Any:  # noqa: ANN401 - as pydantic's `Field`
    """Return the field of an identifier in a path."""
    options: dict[str, Any] = {"examples": list(examples)} if examples else {}
    return Field(description=description, min_length=1, pattern=pattern, **options)


AssistantId = Annotated[str, identifier("The assistant's identifier.", "1")]


class IfNoneMatch(BaseModel):
    """The header of a `PUT` that creates."""

    if_none_match: Literal["*"] | None = Field(
        default=None,
        alias="If-None-Match",
        description="With `*` the object must be new: if it exists, nothing is changed and the "
        "status is 409.",
    )


class Fault(Model):
    """A fault of an object."""

    field: str = Field(description="Its path, for example `tools[2].config.top_k`.")
    description: str


class Deleted(Model):
    """The object is deleted."""

    id: str
    deleted: Literal[True] = True


@cache
def adapter(annotation: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - any type
    """Return the adapter that validates and describes a type."""
    return TypeAdapter(annotation)


def documented(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - any type
    """Return the model that describes a type, None if there is none."""
    for each in (annotation, *getattr(annotation, "__metadata__", ())):
        model = each.model if isinstance(each, DocumentedAs) else each
        if isinstance(model, type) and issubclass(model, BaseModel):
            return model
    return None


def validate(model: type[ModelT], data: object, kind: str = "", *, strict: bool = True) -> ModelT:
    """Return `data` as a value of a type.

    Args:
        model: A model, or any other type.
        data: Members of a JSON object, or the texts of a query or a form.
        kind: What an invalid member is called in the message; by default only its path.
        strict: Whether texts are not converted to numbers.

    Raises:
        InvalidRequestError: The data is invalid. The message names the first invalid member.
    """
    try:
        value: ModelT = adapter(model).validator.validate_python(data, strict=strict)  # type: ignore[arg-type] # types are hashable
    except ValidationError as error:
        raise _invalid(error, data, kind) from None
    return value


def _invalid(error: ValidationError, data: object, kind: str) -> InvalidRequestError:
    errors = [(_path(each, data), _reason(each)) for each in error.errors(include_url=False)]
    # Of a union each alternative has an error. The deepest one is that of the intended one.
    member = errors[0][0]
    deepest = max((path for path, _ in errors if path[: len(member)] == member), key=len)
    reasons = dict.fromkeys(reason for path, reason in errors if path == deepest)
    return invalid(path_text(deepest), ", or ".join(reasons), kind)


def _path(error: ErrorDetails, data: object) -> list[str | int]:
    """Return the path of a member, without the steps that pydantic adds for unions."""
    path: list[str | int] = []
    for step in error["loc"]:
        try:
            data = data[step]  # type: ignore[index] # a wrong type raises
        except (KeyError, IndexError, TypeError):
            if error["type"] != "missing" or step != error["loc"][-1]:
                continue
        path.append(step)
    if error["type"].startswith("union_tag"):
        path.append(str(error["ctx"]["discriminator"]).strip("'"))
    return path


_REASONS = {
    "missing": "is required",
    "extra_forbidden": "is not known here",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "is_instance_of": "must be a file",
    "none_required": "must be null",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "is required",
    "literal_error": "must be one of {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} items",
    "value_error": "{error}",
}


def _reason(error: ErrorDetails) -> str:
    """Return the reason of an error, as a sentence without its subject."""
    context = error.get("ctx", {})
    if error["type"] in ("string_too_short", "too_short"):
        length = context["min_length"]
        return "must not be empty" if length == 1 else f"must have at least {length} items"
    template = _REASONS.get(error["type"])
    return template.format(**context) if template else error["msg"]
