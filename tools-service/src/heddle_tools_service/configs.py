"""Checks a tool's configurations against its JSON Schema (2020-12) and fills in the defaults."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from heddle_runtime.errors import Violation
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from heddle_tools_service.complaints import complaints, model_complaints
from heddle_tools_service.definitions import DefinitionError

_DEEPEST = 32


class ConfigSchema:
    """A tool's schema, compiled once.

    Raises:
        DefinitionError: The schema is not valid, or refers to another document.
    """

    def __init__(self, schema: Mapping[str, Any], parse: Callable[[dict[str, Any]], Any]) -> None:
        if not isinstance(schema, Mapping):
            raise DefinitionError("The config_schema is not a JSON object. Make it one.")
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            place = "/".join(map(str, error.absolute_path)) or "its root"
            raise DefinitionError(
                f"The config_schema is not JSON Schema 2020-12, see {place}: {error.message[:200]}"
            ) from error
        _refuse_far_references(schema)
        self._schema = schema
        self._parse = parse
        # An empty registry: a reference must never make the service fetch something.
        self._validator = Draft202012Validator(schema, registry=Registry())

    def check(self, config: Mapping[str, Any]) -> tuple[dict[str, Any], list[Violation]]:
        """Return `config` with defaults filled in, and everything that is wrong with it."""
        effective, _, violations = self._checked(config)
        return effective, violations

    def read(self, config: Mapping[str, Any]) -> tuple[Any, list[Violation]]:
        """Return what the tool gets as its configuration, and everything that is wrong with it."""
        _, parsed, violations = self._checked(config)
        return parsed, violations

    def _checked(self, config: Mapping[str, Any]) -> tuple[dict[str, Any], Any, list[Violation]]:
        effective = copy.deepcopy(dict(config))
        _fill(effective, self._schema, self._schema, 0)
        try:
            violations = complaints(self._validator.iter_errors(effective))
        except (Unresolvable, RecursionError):
            return effective, None, [Violation("config", "cannot be checked: the schema is broken")]
        if violations:
            return effective, None, violations
        try:
            return effective, self._parse(effective), []
        except ValidationError as error:
            return effective, None, model_complaints(error)


def _fill(value: object, schema: object, root: Mapping[str, Any], depth: int) -> None:
    """Put the defaults of `schema` into `value`, also into what those defaults contain."""
    schema = _resolved(schema, root)
    if depth > _DEEPEST or not isinstance(schema, Mapping):
        return
    properties = schema.get("properties")
    if isinstance(value, dict) and isinstance(properties, Mapping):
        for name, inner in properties.items():
            if name not in value and isinstance(inner, Mapping) and "default" in inner:
                value[name] = copy.deepcopy(inner["default"])
            if name in value:
                _fill(value[name], inner, root, depth + 1)
    elif isinstance(value, list) and "items" in schema:
        for item in value:
            _fill(item, schema["items"], root, depth + 1)


def _resolved(schema: object, root: Mapping[str, Any]) -> object:
    """Return what a reference to a definition of the same schema stands for."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
        return schema
    return root.get("$defs", {}).get(reference.removeprefix("#/$defs/"))


def _refuse_far_references(schema: object) -> None:
    match schema:
        case Mapping():
            for name in ("$ref", "$dynamicRef"):
                reference = schema.get(name, "#")
                if isinstance(reference, str) and not reference.startswith("#"):
                    raise DefinitionError(
                        "The config_schema refers to another document. Copy what it needs into "
                        "its own $defs."
                    )
            for inner in schema.values():
                _refuse_far_references(inner)
        case list():
            for inner in schema:
                _refuse_far_references(inner)
        case _:
            return
