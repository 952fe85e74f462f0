"""Checks values against JSON Schemas (2020-12) that come from outside."""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from jsonschema_rs import Draft202012Validator, ValidationError

from heddle_runtime.contract.bounded_regex import NAMES, Watch, keyword
from heddle_runtime.contract.limits import exceeds_depth
from heddle_runtime.contract.schema_references import (
    BUDGET_KEYWORD,
    MAX_DEPTH,
    ReferenceBudget,
    limited,
)

_MAX_FOLLOWED = 200_000
"""References followed in one check."""
_MAX_FOLLOWED_FOR_ERRORS = 10_000
"""References followed to report errors, which takes much longer than to find one."""
_PATTERN_PREFIX = "Failed to instantiate keyword class 'pattern': PatternError: "
_TOO_COMPLEX = "the references of the schema expand to too many checks"


class SchemaError(ValueError):
    """An invalid or unsupported schema; the message says where and why."""


class UncheckableError(ValueError):
    """A value that cannot be checked; the message says why."""


class Schema:
    r"""A compiled schema, of any `$schema` read as 2020-12.

    Nothing is fetched. A `pattern` is searched for as in ECMA-262 (not anchored; `\d` and `\w` are
    ASCII; `$` ends the text), with lookarounds and backreferences, in bounded time: texts of up to
    1,000,000 characters, of 5,000 for a pattern that looks around or is large, and a quarter of a
    second for all patterns of a check; beyond that a text does not match. The names in
    `patternProperties` may neither look around nor be large. Not supported: more than 100
    patterns, surrogate pairs as two escapes, and syntax of Python such as `\A` and `\Z`.
    `format` is not checked.

    A schema has at most 250,000 characters, 200 levels and 1,000 references, and a value at most
    200 levels. A check follows at most 200,000 references, and 10,000 to report errors.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Compile a schema.

        Raises:
            SchemaError: It is invalid, refers to nothing or to another document, exceeds a limit,
                or has a pattern that is not supported.
        """
        self._watch = Watch()
        self._budget = ReferenceBudget()
        try:
            self._validator = Draft202012Validator(
                limited(schema),
                pattern_options=NAMES,
                keywords={
                    "pattern": keyword(self._watch),
                    BUDGET_KEYWORD: self._budget.keyword(),
                },
                retriever=_refuse,
                validate_formats=False,
            )
        except ValidationError as error:
            place = "/".join(map(str, error.instance_path)) or "its root"
            reason = error.message.removeprefix(_PATTERN_PREFIX)
            raise SchemaError(f"see {place}: {reason[:200]}") from error
        except RecursionError as error:
            raise SchemaError("see its root: it is nested too deeply") from error
        except (TypeError, ValueError) as error:  # not JSON, or beyond a limit
            raise SchemaError(f"see its root: {str(error)[:200]}") from error

    def errors(self, value: object) -> list[ValidationError]:
        """Return all errors of a value.

        Raises:
            UncheckableError: It is nested too deeply, its text is not Unicode, or its check
                exceeds the limit of references.
        """
        if exceeds_depth(value, MAX_DEPTH):
            raise UncheckableError("it is nested too deeply")
        self._watch.spent = 0.0
        try:
            self._budget.start(_MAX_FOLLOWED)
            is_valid = self._validator.is_valid(value)
            if self._budget.exceeded:
                raise UncheckableError(_TOO_COMPLEX)
            if is_valid:
                return []
            self._watch.spent = 0.0
            self._budget.start(_MAX_FOLLOWED_FOR_ERRORS)
            errors = list(self._validator.iter_errors(value))
        except ValueError as error:
            raise UncheckableError(str(error)[:200]) from error
        if self._budget.exceeded:
            raise UncheckableError(f"it is invalid, but {_TOO_COMPLEX} to say why")
        return errors

    def fitting(self, values: Iterable[Any]) -> list[Any]:
        """Return the valid values in their order. All of them share the limits of one check."""
        self._watch.spent = 0.0
        self._budget.start(_MAX_FOLLOWED)
        valid = []
        for value in values:
            try:
                if exceeds_depth(value, MAX_DEPTH) or self._budget.exceeded:
                    continue
                if self._validator.is_valid(value) and not self._budget.exceeded:
                    valid.append(value)
            except ValueError:
                continue
        return valid


def _refuse(address: str, /) -> NoReturn:
    raise ValueError(f"{address[:200]} is not fetched")
