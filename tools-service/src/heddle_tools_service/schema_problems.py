"""Finds the faults in the JSON Schema of a tool when the tool is registered.

jsonschema names the place and the rule of each error. It takes too long for each call, which
`heddle_runtime.text.json_schema` checks. Neither fetches what a schema refers to.
"""

from itertools import islice
from typing import Any

_MAX_ERRORS = 30
"""The draft 2020-12 reports an error once for each of its vocabularies."""
_MAX_MESSAGE_CHARACTERS = 200


def schema_problems(schema: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return the first errors of a schema, each as `path: message`.

    The schema's `$schema` selects the draft, 2020-12 without one.
    """
    # Half of the start of a service would go into this import, and most schemas are right.
    import jsonschema  # noqa: PLC0415

    draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    errors = islice(draft(draft.META_SCHEMA).iter_errors(schema), _MAX_ERRORS)
    return list(dict.fromkeys(map(_text, errors)))


def _text(error: Any) -> str:  # noqa: ANN401 - jsonschema's error
    # "is not valid under any of the given schemas" would not tell which values are.
    precise = error.context[0] if error.context else error
    place = "/".join(map(str, precise.absolute_path)) or "its root"
    return f"{place}: {precise.message[:_MAX_MESSAGE_CHARACTERS]}"
