"""Checks configurations and arguments against a JSON Schema (2020-12) and fills in defaults."""

import copy
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from heddle_runtime.contract.json_schema import Schema, SchemaError, UncheckableError
from heddle_runtime.errors import Violation
from pydantic import ValidationError

from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.definitions.unsatisfiable import contradictions
from heddle_tools_service.definitions.validation_errors import (
    CONFIG,
    REQUIRED,
    Noun,
    model_violations,
    validation_errors,
)
from heddle_tools_service.sdk.models import IDENTIFIER

_MAX_DEPTH = 32
_MAX_ERRORS = 30
"""The draft 2020-12 reports an error once for each of its vocabularies."""
_MAX_MESSAGE_CHARACTERS = 200


class CompiledSchema:
    """The schema of objects of one kind, compiled once."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        parse: Callable[[dict[str, Any]], Any],
        noun: Noun = CONFIG,
    ) -> None:
        """Compile a schema.

        Args:
            schema: The JSON Schema.
            parse: Converts a valid object to the value that the tool receives.
            noun: The words for the objects in messages.

        Raises:
            DefinitionError: The schema is not valid, refers to nothing or to another document,
                has a pattern that is not supported (see `heddle_runtime.contract.json_schema`), or
                fits no object.
        """
        if not isinstance(schema, Mapping):
            raise DefinitionError(f"The {noun.schema} is not a JSON object. Make it one.")
        try:
            self._validator = Schema(schema)
        except SchemaError as error:
            problems = [f"see {each}" for each in schema_problems(schema)] or [str(error)]
            raise DefinitionError(
                f"The {noun.schema} is not JSON Schema 2020-12, {'; '.join(problems)}"
            ) from error
        for reason in contradictions(schema):
            raise DefinitionError(f"The {noun.schema} {reason}: the tool could never be called.")
        self._noun = noun
        self._schema = schema
        self._parse = parse

    def read(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], Any, list[Violation]]:
        """Return `values` with defaults, the value for the tool, and all violations."""
        effective = copy.deepcopy(dict(values))
        _fill(effective, self._schema, self._schema, 0)
        try:
            violations = validation_errors(self._validator.errors(effective), self._noun)
            if self._noun is CONFIG:
                violations += _blank(effective, self._schema, violations)
        except UncheckableError as error:
            return effective, None, [Violation(self._noun.root, f"cannot be checked: {error}")]
        if violations:
            return effective, None, violations
        try:
            return effective, self._parse(effective), []
        except ValidationError as error:
            return effective, None, model_violations(error, self._noun)


def schema_problems(schema: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return the first errors of a schema, each as `path: message`.

    The schema's `$schema` selects the draft, 2020-12 without one.
    """
    # jsonschema names the place and the rule of each error, but takes too long for each call.
    # Half of the start of a service would go into this import, and most schemas are right.
    import jsonschema  # noqa: PLC0415

    draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    errors = islice(draft(draft.META_SCHEMA).iter_errors(schema), _MAX_ERRORS)
    return list(dict.fromkeys(map(_located, errors)))


def _located(error: Any) -> str:  # noqa: ANN401 - jsonschema's error
    # "is not valid under any of the given schemas" would not tell which values are.
    precise = error.context[0] if error.context else error
    place = "/".join(map(str, precise.absolute_path)) or "its root"
    return f"{place}: {precise.message[:_MAX_MESSAGE_CHARACTERS]}"


def _fill(value: object, schema: object, root: Mapping[str, Any], depth: int) -> None:
    """Put the defaults of `schema` into `value`, also into what those defaults contain."""
    schema = _resolved(schema, root)
    if depth > _MAX_DEPTH or not isinstance(schema, Mapping):
        return
    properties = schema.get("properties")
    if isinstance(value, dict) and isinstance(properties, Mapping):
        for name, inner in properties.items():
            if name not in value and isinstance(inner, Mapping) and "default" in inner:
                value[name] = copy.deepcopy(inner["default"])
            if name in value:
                value[name] = _identifier(value[name], inner, root)
                _fill(value[name], inner, root, depth + 1)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            value[index] = _identifier(item, schema["items"], root)
            _fill(item, schema["items"], root, depth + 1)


def _identifier(value: object, schema: object, root: Mapping[str, Any]) -> object:
    """Return an identifier as text: many clients write it as a number."""
    schema = _resolved(schema, root)
    number = isinstance(value, int) and not isinstance(value, bool)
    if number and isinstance(schema, Mapping) and schema.get("format") == IDENTIFIER:
        return str(value)
    return value


def _blank(
    config: Mapping[str, Any], schema: Mapping[str, Any], violations: Sequence[Violation]
) -> list[Violation]:
    """Return the required options that are empty texts, unless `violations` names them."""
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if required else []
    fields = [
        f"{CONFIG.root}.{name}"
        for name in names
        if isinstance(value := config.get(name), str) and not value.strip()
    ]
    reported = {violation.field for violation in violations}
    return [Violation(field, REQUIRED) for field in fields if field not in reported]


def _resolved(schema: object, root: Mapping[str, Any]) -> object:
    """Return the definition to which a schema refers; a schema without reference as it is."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
        return schema
    return root.get("$defs", {}).get(reference.removeprefix("#/$defs/"))
