"""Makes the models that validate and describe the JSON of messages."""

import json
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Annotated, Any, Literal

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from heddle.rest.v1 import rest_pb2
from heddle_runtime.contract.rest_members import (
    FAULT,
    Member,
    comment,
    constants,
    members,
    message_named,
    schema_options,
)
from pydantic import Field, create_model

from heddle_gateway.http.models import (
    MAX_EXACT_NUMBER,
    DocumentedAs,
    Fault,
    ListQuery,
    Model,
    StrictModel,
    Text,
)

LAST_SECOND = 253_402_300_799
"""The last second of the year 9999, the largest time of a timestamp."""
_TYPES: dict[int, Any] = {
    FieldDescriptor.CPPTYPE_STRING: Text,
    FieldDescriptor.CPPTYPE_BOOL: bool,
    FieldDescriptor.CPPTYPE_DOUBLE: float,
    FieldDescriptor.CPPTYPE_FLOAT: float,
}
Setting = (
    str
    | bool
    | None
    | Annotated[float, Field(ge=-MAX_EXACT_NUMBER, le=MAX_EXACT_NUMBER)]
    | dict[str, Any]
    | list[Any]
)
"""A value of a `google.protobuf.Struct`."""
_EMPTY: dict[Any, Any] = {bool: False, int: 0, float: 0.0}
_VERB = re.compile("^(Create|Put|Update)|Request$")
_PAGING = ListQuery.model_fields.keys()


@cache
def response_model(
    message: Descriptor, without: tuple[str, ...] = (), name: str = ""
) -> type[Model]:
    """Return the model of a message in a response, without the fields of these names."""
    if message.full_name == FAULT:
        return Fault
    name = name or schema_options(message).name or message.name
    fields = _constants(message)
    for part in members(message):
        if part.field.name in without:
            continue
        if part.form == rest_pb2.FORM_INLINE:
            fields |= _inline_fields(part)
        else:
            default = {"default": None} if part.options.sparse else {}
            fields[part.name] = (_output_type(part), _described(part, **default))
    return create_model(name, __base__=StrictModel, __doc__=described(message), **fields)


def described_as(message: Descriptor, *without: str) -> DocumentedAs:
    """Return the description of a response that a message is, for routes that are written by hand.

    It lacks the fields `without`.
    """
    return DocumentedAs(factory=partial(response_model, message, without))


def body_model(message: Descriptor, parts: Iterable[Member], name: str = "") -> type[Model]:
    """Return the model of the members that a body may have."""
    options = schema_options(message)
    extra = {"examples": [json.loads(options.example)]} if options.example else None
    return create_model(
        name or _VERB.sub("", message.name) + "Body",
        __base__=StrictModel,
        __doc__=described(message),
        __cls_kwargs__={"json_schema_extra": extra},
        **_inputs(parts),
    )


@cache
def _body_of(message: Descriptor) -> type[Model]:
    return body_model(message, members(message))


def _constants(message: Descriptor) -> dict[str, Any]:
    # Names of fields have no underscore at their beginning.
    return {
        name.lstrip("_"): (Literal[value], Field(alias=name))
        for name, value in constants(message).items()
    }


def _document_model(message: Descriptor) -> type[Model]:
    """Return the model of what a service reads itself."""
    return create_model(
        message.name,
        __base__=Model,
        __doc__=described(message),
        **_inputs(members(message), _document_model),
    )


def query_model(message: Descriptor, parts: Iterable[Member]) -> type[Model]:
    """Return the model of the members that a query may have; others are ignored."""
    fields = _inputs(parts) | {each.name: _listed(each) for each in parts if each.is_list}
    base = ListQuery if fields.keys() & _PAGING else Model
    others = {name: value for name, value in fields.items() if name not in _PAGING}
    return create_model(message.name, __base__=base, **others)


def _listed(part: Member) -> Any:  # noqa: ANN401 - the type and the field
    """Return the field of values that commas separate. Their reader checks them."""
    word = f"({'|'.join(part.words)})"
    extra = {"pattern": f"^({word}(,{word})*)?$"} if part.words else None
    fallback = json.loads(part.options.fallback or '""')
    return Text, _described(part, default=fallback, json_schema_extra=extra)


def path_type(part: Member) -> Any:  # noqa: ANN401 - any type
    """Return the type that describes a parameter of a path. The service validates it."""
    if is_number(part):
        return Annotated[int, _bounds(part), _described(part)]
    bounds = {"min_length": 1, "pattern": part.options.pattern or "^[A-Za-z0-9_-]+$"}
    return Annotated[str, _described(part, **bounds)]


def is_number(part: Member) -> bool:
    """Return whether a parameter of a path is a number."""
    return part.field.cpp_type == FieldDescriptor.CPPTYPE_INT32


def described(message: Descriptor) -> str:
    """Return the description of an object for clients."""
    return schema_options(message).description or comment(message.full_name)


def _inline_fields(part: Member) -> dict[str, Any]:
    fields = response_model(part.message).model_fields
    nullable = part.options.nullable
    return {
        name: ((each.annotation or Any) | None if nullable else each.annotation, each)
        for name, each in fields.items()
    }


def _inputs(
    parts: Iterable[Member], nested: Callable[[Descriptor], type[Model]] = _body_of
) -> dict[str, Any]:
    """Return the fields of a model. Those that only the service sets may be sent back."""
    unused = (Any, Field(default=None, description="Changes nothing."))
    fields: dict[str, Any] = {}
    for part in parts:
        if part.form == rest_pb2.FORM_INLINE:
            fields |= {
                name: (type_ | None, Field(default=None, alias=field.alias))
                for name, (type_, field) in _constants(part.message).items()
            }
            fields |= _inputs(members(part.message), nested)
        elif part.output_only:
            fields[part.name] = unused
        else:
            fields[part.name] = (_input_type(part, nested), _input_field(part))
    return fields


def _input_field(part: Member) -> Any:  # noqa: ANN401 - as pydantic's `Field`
    if part.required:
        return _described(part)
    if part.options.fallback:
        return _described(part, default=json.loads(part.options.fallback))
    empty: Any = None
    if _absent_as_null(part):
        pass
    elif part.is_map or part.field.is_repeated:
        empty = {} if part.is_map else []
    elif part.message is None and part.form != rest_pb2.FORM_OBJECT:
        scalar = _scalar(part)
        empty = "" if scalar is Text or "" in part.words else _EMPTY.get(scalar)
    return _described(part, default=empty)


def _described(part: Member, **fields: Any) -> Any:  # noqa: ANN401 - as pydantic's `Field`
    options = part.options
    if options.example:
        fields["examples"] = [json.loads(options.example)]
    return Field(description=part.description or None, **fields)


def _may_be_null(part: Member) -> bool:
    scalar = part.message is None and not part.field.is_repeated
    return part.options.nullable or (scalar and part.field.has_presence)


def _absent_as_null(part: Member) -> bool:
    """Return whether null in a request means that the member is absent."""
    message: Any = part.field.containing_type
    return not part.required and (schema_options(message).nulls or _may_be_null(part))


def _required_as_null(part: Member) -> bool:
    """Return whether a request must have the member, which is null if the field is not set."""
    return part.required and part.options.nullable and part.field.has_presence


def _input_type(part: Member, nested: Callable[[Descriptor], type[Model]]) -> Any:  # noqa: ANN401 - any type
    value = part.value
    type_: Any = dict[str, Any]
    if part.is_object:
        if name := part.options.described_by:
            type_ = Annotated[type_, DocumentedAs(_document_model(message_named(name)))]
    elif value.is_time:
        type_ = Annotated[int, Field(ge=0, le=LAST_SECOND)]
    elif value.is_duration:
        type_ = Annotated[float, _bounds(value)]
    elif value.is_struct:
        type_ = dict[str, Setting]
    elif value.message is not None:
        type_ = nested(value.message)
    elif part.form == rest_pb2.FORM_IDENTIFIER:
        type_ = str | int
    else:
        type_ = Annotated[_scalar(value), _bounds(value)]
    type_ = _collected(part, type_)
    return type_ | None if _absent_as_null(part) or _required_as_null(part) else type_


def _output_type(part: Member) -> Any:  # noqa: ANN401 - any type
    value = part.value
    type_: Any = dict[str, Any]
    if part.is_object:
        pass
    elif part.form == rest_pb2.FORM_JSON:
        return Any
    elif value.is_time:
        type_ = int
    elif value.is_duration:
        type_ = Annotated[float, Field(ge=0)]
    elif value.is_struct:
        type_ = dict[str, Setting]
    elif value.message is not None:
        without = tuple(part.options.without)
        type_ = response_model(value.message, without, part.options.without_name)
    else:
        type_ = _scalar(value)
        type_ = str if type_ is Text else Annotated[type_, _bounds(value)]
    type_ = _collected(part, type_)
    nullable = _may_be_null(part) and not (part.options.sparse or part.options.required)
    return type_ | None if nullable and not part.field.is_repeated else type_


def _collected(part: Member, type_: Any) -> Any:  # noqa: ANN401 - any type
    """Return the type of a field of values of a type."""
    if part.is_map:
        pattern = part.options.pattern
        name = Annotated[str, Field(pattern=pattern)] if pattern else str
        return dict[name, type_]  # type: ignore[valid-type] # made of the contract
    if part.is_list:
        least, most = part.options.min_length, part.options.max_items
        bounds = Field(min_length=least or None, max_length=most or None)
        return Annotated[list[type_], bounds] if least or most else list[type_]
    return type_


def _scalar(part: Member) -> Any:  # noqa: ANN401 - any type
    if part.words:
        return Literal[tuple(part.words)]
    if part.form == rest_pb2.FORM_MICROS:
        return float
    return _TYPES.get(part.field.cpp_type, int)


def _bounds(part: Member) -> Any:  # noqa: ANN401 - as pydantic's `Field`
    options = part.options
    optional = {"ge": "minimum", "gt": "above", "le": "maximum"}
    set_fields = {field.name for field, _ in options.ListFields()}
    bounds: dict[str, Any] = {
        name: _whole(getattr(options, option))
        for name, option in optional.items()
        if option in set_fields
    }
    for name in ("min_length", "max_length", "pattern"):
        if value := getattr(options, name):
            bounds[name] = value
    return Field(**bounds)


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() else number
