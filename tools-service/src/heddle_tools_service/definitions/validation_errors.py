"""Describes validation errors without repeating values, which may be secrets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heddle_runtime.errors import Violation
from heddle_runtime.redaction import redact
from jsonschema_rs import ValidationError, ValidationErrorKind
from pydantic import ValidationError as ModelError

_MAX_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Noun:
    """The words by which messages name an object, its members and its schema."""

    root: str
    """The beginning of a path."""
    member: str
    schema: str
    """The schema itself."""


CONFIG = Noun("config", "an option of this tool", "config_schema")
ARGUMENTS = Noun("arguments", "an argument of this function", "schema of its arguments")

REQUIRED = "is required"
_RULES: Mapping[str, Callable[[Any], str]] = {
    "minimum": lambda limit: f"must be at least {limit}",
    "maximum": lambda limit: f"must be at most {limit}",
    "exclusiveMinimum": lambda limit: f"must be more than {limit}",
    "exclusiveMaximum": lambda limit: f"must be less than {limit}",
    "multipleOf": lambda step: f"must be a multiple of {step}",
    "minLength": lambda limit: f"must have at least {limit} characters",
    "maxLength": lambda limit: f"must have at most {limit} characters",
    "minItems": lambda limit: f"must have at least {limit} items",
    "maxItems": lambda limit: f"must have at most {limit} items",
    "minProperties": lambda limit: f"must have at least {limit} members",
    "maxProperties": lambda limit: f"must have at most {limit} members",
    "uniqueItems": lambda _: "must not hold the same item twice",
    "pattern": str,
    "type": lambda types: f"must be of type {_either(types)}",
    "enum": lambda values: f"must be {_either(map(repr, values))}",
    "const": lambda value: f"must be {value!r}",
}


def validation_errors(errors: Iterable[ValidationError], noun: Noun) -> list[Violation]:
    """Return everything that a schema finds wrong, in the order of the paths."""
    violations = {violation: None for error in errors for violation in _of(error, noun)}
    return sorted(violations, key=lambda violation: violation.field)


def model_violations(error: ModelError, noun: Noun) -> list[Violation]:
    """Return the violations that a pydantic model finds beyond its schema."""
    return [
        Violation(_path(noun, item["loc"]), redact(item["msg"].removeprefix("Value error, ")))
        for item in error.errors(include_input=False, include_url=False)
    ]


def listed(violations: Iterable[Violation]) -> str:
    """Return violations in one line."""
    return "; ".join(f"{each.field} {each.description}" for each in violations)


def _of(error: ValidationError, noun: Noun) -> Iterator[Violation]:
    path = error.instance_path
    match error.kind:
        case ValidationErrorKind.Required(name):
            yield Violation(_path(noun, [*path, name]), REQUIRED)
        case ValidationErrorKind.AdditionalProperties(
            names
        ) | ValidationErrorKind.UnevaluatedProperties(names):
            for name in names:
                yield Violation(_path(noun, [*path, name]), f"is not {noun.member}")
        case ValidationErrorKind.AnyOf(forms) | ValidationErrorKind.OneOfNotValid(forms):
            yield Violation(_path(noun, path), _alternatives(forms, path))
        case kind:
            say = _RULES.get(kind.name)
            broken = f"breaks the rule {kind.name!r} of the tool's schema"
            yield Violation(_path(noun, path), say(kind.value) if say else broken)


def _alternatives(forms: Sequence[Sequence[ValidationError]], path: list[str | int]) -> str:
    """Return one message for a value that fits none of its allowed forms."""
    types = []
    for errors in forms:
        wrong = [each for each in errors if each.instance_path == path]
        types += [
            name
            for each in wrong
            if isinstance(each.kind, ValidationErrorKind.Type)
            for name in each.kind.types
        ]
        if not wrong or not isinstance(wrong[0].kind, ValidationErrorKind.Type):
            return "has none of the allowed forms"
    return f"must be of type {_either(dict.fromkeys(types))}"


def _either(words: Iterable[str]) -> str:
    return " or ".join(map(str, words))


def _path(noun: Noun, location: Iterable[str | int]) -> str:
    path = noun.root
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step[:_MAX_NAME_CHARS]}"
    return path
