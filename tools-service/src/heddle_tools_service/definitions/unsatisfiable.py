"""Finds schemas that no object fits, and functions that no call fits."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

_RANGES = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_MAX_DEPTH = 16


def contradictions(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield why no object fits a schema, each as the end of a sentence about the schema.

    Only contradictions that can be read off are found: in `type`, `enum`, `const`, `required` and
    ranges, and in those of required members. References are not followed.
    """
    if not _accepts_type(schema, dict, "object"):
        yield "accepts no JSON object, write type: object"
        return
    yield from _of_members(schema, "", 0)


def signature_problem(function: Callable[..., Any], *values: str, **named: str) -> str:
    """Return why `function` does not take the parameters, an empty text if it does.

    Args:
        function: The function.
        values: What is passed by position, for the message.
        named: What is passed by name.
    """
    try:
        inspect.signature(function).bind(*values, **named)
    except TypeError as error:
        call = ", ".join((*values, *(f"{name}=..." for name in named)))
        return f"cannot be called with ({call}): {error}"
    except ValueError:  # without a signature, as some functions written in C
        return ""
    return ""


def _of_members(schema: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
    for low, high in _RANGES:
        least, most = schema.get(low), schema.get(high)
        if _is_number(least) and _is_number(most) and least > most:
            yield f"has a {low} above the {high}{path}"
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or depth > _MAX_DEPTH:
        return
    members = properties if isinstance(properties, Mapping) else {}
    closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
    for name in required:
        member = members.get(name, not closed)
        if not _accepts(member):
            yield f"requires {name!r}{path}, but accepts no value of it"
        elif isinstance(member, Mapping):
            yield from _of_members(member, f" in {name!r}", depth + 1)


def _accepts(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return schema is not False
    return schema.get("not") not in (True, {}) and schema.get("enum") != []


def _accepts_type(schema: Mapping[str, Any], kind: type, name: str) -> bool:
    types = schema.get("type", name)
    if name not in ([types] if isinstance(types, str) else types):
        return False
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return values is None or any(isinstance(value, kind) for value in values)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
