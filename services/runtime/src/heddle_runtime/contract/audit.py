"""The content of audit events: names of changed fields, and the few values that may be shown."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heddle_runtime.redaction import redact, redact_personal

Members = Mapping[str, Any]
"""The fields of an object, by name. Values are JSON values."""

SHOWN = frozenset(
    {
        *(
            "connector",
            "disabled",
            "expire_time",
            "method",
            "model",
            "name",
            "organization",
            "owner",
        ),
        *("public", "published", "role", "scopes", "sharing", "strategy", "title", "tools"),
        *("trusted", "user"),
        *("document", "events", "file", "files", "ids", "rows", "table"),
    }
)
"""The fields whose values events contain. None holds a secret or a prompt."""
_MAX_FIELDS = 100
_MAX_NAME = 60
_MAX_VALUE = 200


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one object."""

    action: str
    """The type of the object, `.` and a verb."""
    object_id: str
    organization: str
    """The slug of the object's organisation. Empty if the object belongs to several or none."""
    before: Members | None = None
    """None for a new object."""
    after: Members | None = None
    """None for a deleted object."""
    refused: bool = False
    """Whether the change was refused because the caller lacks the right to it."""

    @property
    def object_type(self) -> str:
        """The type of the object."""
        return self.action.partition(".")[0]

    @property
    def is_empty(self) -> bool:
        """Whether no field differs."""
        return (
            self.before is not None
            and self.after is not None
            and text_of(self.before) == text_of(self.after)
        )


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs."""

    name: str
    before: str | None = None
    """None if the value is not shown, or there is none."""
    after: str | None = None

    def as_json(self) -> list[str | None]:
        """Return the three members as they are stored."""
        return [self.name, self.before, self.after]


def text_of(value: object) -> str:
    """Return the text of a JSON value. Equal values have equal texts, also those JSON lacks."""
    return json.dumps(value, sort_keys=True)


def field_changes(change: Change) -> list[FieldChange]:
    """Return the fields that differ, by name."""
    return list(_differing(change.before or {}, change.after or {}))[:_MAX_FIELDS]


def _differing(before: Members, after: Members) -> Iterator[FieldChange]:
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if text_of(one) == text_of(other):
            continue
        shown = redact_personal(name[:_MAX_NAME])
        if name in SHOWN:
            yield FieldChange(shown, _shown(one), _shown(other))
        else:
            yield FieldChange(shown)


def _shown(value: object) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return redact(text)[:_MAX_VALUE]
