"""Checking values against JSON Schemas (2020-12) that strangers wrote."""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from jsonschema_rs import Draft202012Validator, ValidationError

from heddle_runtime.bounded_regex import NAMES, Watch, keyword
from heddle_runtime.unfolding import Unfolding

_MOST_WORK, _MOST_TELLING = 1_000_000, 20_000
"""How often parts of a schema are applied; it takes a thousand times as long to tell what is
wrong."""
_UNFIT = "Failed to instantiate keyword class 'pattern': PatternError: "


class SchemaError(ValueError):
    """A schema that nothing can be checked against; the message says where and why."""


class UncheckableError(ValueError):
    """A value that no schema can be applied to; the message says why."""


class Schema:
    r"""A compiled schema, of any `$schema` read as one of 2020-12.

    Nothing is fetched. A `pattern` is searched for like ECMA-262 says (not anchored; `\d` and
    `\w` are ASCII; `$` ends the text), with lookarounds and references back, in bounded time:
    texts of up to 1,000,000 characters, of 5,000 for a pattern that looks around or is large, and
    a quarter of a second for all patterns of a check; what is beyond does not match. The names in
    `patternProperties` may neither look around nor be large. Not supported: more than 100
    patterns, surrogate pairs as two escapes, and what only Python knows, like `\A` and `\Z`.
    `format` is not checked.

    A reference is a JSON pointer within the schema, like `#/$defs/NAME`; not supported are
    anchors, parts with an `$id`, and a part that refers to itself for the same value. References
    may unfold to a million checks of a value, and to 20,000 if it is told what is wrong.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Compile a schema.

        Raises:
            SchemaError: It is no schema, refers to nothing or to another document, or has a
                pattern that is not supported.
        """
        self._watch = Watch()
        try:
            self._validator = Draft202012Validator(
                dict(schema),
                pattern_options=NAMES,
                keywords={"pattern": keyword(self._watch)},
                retriever=_nothing,
                validate_formats=False,
            )
            self._unfolding = Unfolding(schema)
        except ValidationError as error:
            place = "/".join(map(str, error.instance_path)) or "its root"
            reason = error.message.removeprefix(_UNFIT)
            raise SchemaError(f"see {place}: {reason[:200]}") from error
        except ValueError as error:  # no JSON, nested too deeply, or not to be unfolded
            raise SchemaError(f"see its root: {str(error)[:200]}") from error

    def errors(self, value: object) -> list[ValidationError]:
        """Return everything that is wrong with a value.

        Raises:
            UncheckableError: It is nested too deeply, its text is not Unicode, or the schema is
                too intricate for it.
        """
        self._watch.spent = 0.0
        try:
            work = self._unfolding.work(value)
            if work > _MOST_WORK:
                raise UncheckableError("the schema is too intricate for it")
            if work <= _MOST_TELLING:
                return list(self._validator.iter_errors(value))
            if self._validator.is_valid(value):
                return []
        except ValueError as error:
            raise UncheckableError(str(error)[:200]) from error
        raise UncheckableError("it does not fit, and the schema is too intricate to say why")

    def fitting(self, values: Iterable[Any]) -> list[Any]:
        """Return the values that are valid, in their order; all of them share one budget."""
        self._watch.spent = 0.0
        found, work = [], 0
        for value in values:
            try:
                work += self._unfolding.work(value)
                if work <= _MOST_WORK and self._validator.is_valid(value):
                    found.append(value)
            except ValueError:
                continue
        return found


def _nothing(address: str, /) -> NoReturn:
    raise ValueError(f"{address[:200]} is not fetched")
