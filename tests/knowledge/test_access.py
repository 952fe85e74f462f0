"""Who may change a collection: a user without a name does not own what has no owner."""

from datetime import UTC, datetime
from typing import Any

import pytest
from heddle_knowledge.collection import access
from heddle_knowledge.collection.types import Collection
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION

OPERATORS = access.Person("", DEFAULT_ORGANIZATION)


def collection(**fields: Any) -> Collection:
    return Collection("a", "", "embedded", {}, "", 0, "", datetime.now(UTC), "0" * 32, **fields)


@pytest.mark.parametrize(
    ("person", "fields", "expected"),
    [
        (access.Person("", "uni"), {"organization": "uni"}, False),
        (access.owner_of("", "uni"), {"organization": "uni"}, False),
        (access.Person("ann@uni.example", "uni"), {"organization": "uni"}, False),
        (
            access.Person("ann@uni.example", "uni"),
            {"organization": "uni", "owner": "ann@uni.example"},
            True,
        ),
        (access.Person("head", "uni", administrator=True), {"organization": "uni"}, True),
        (OPERATORS, {}, True),
        (OPERATORS, {"organization": "uni"}, False),
    ],
)
def test_only_the_operator_owns_what_has_no_owner_and_only_at_home(
    person: access.Person, fields: dict[str, str], expected: bool
) -> None:
    assert access.may_change(person, collection(**fields)) is expected
