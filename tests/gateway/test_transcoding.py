"""What the transcoder makes of messages, and of the JSON of clients."""

from typing import Any

import pytest
from gateway.essays import EXAMPLE
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import following_pb2
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.audit.v1 import audit_pb2
from heddle.rubric.v1 import rubric_pb2
from heddle.usage.v1 import usage_pb2
from heddle_gateway.app.operations import document
from heddle_gateway.http.json_text import parse
from heddle_gateway.http.models import validate
from heddle_gateway.routing.transcoded import Transcoder, operation
from heddle_gateway.transcoding.messages import writer
from heddle_runtime.errors import InvalidRequestError

NOTHING = {"email": "", "organization": "", "name": "", "disabled": False, "home": False}


@pytest.mark.parametrize(
    ("message", "members"),
    [
        (
            account_pb2.User(role="admin", last_active_time=Timestamp(seconds=5)),
            {**NOTHING, "role": "admin", "has_password": False, "created": None, "last_active": 5},
        ),
        (audit_pb2.FieldChange(name="a", after=""), {"name": "a", "before": None, "after": ""}),
        (
            following_pb2.FollowedTableStatus(table=following_pb2.FOLLOWED_TABLE_USERS, rows=2**53),
            {"name": "users", "rows": 2**53, "gone": 0, "refused": 0},
        ),
    ],
)
def test_a_message_has_all_members_under_their_names(message: Any, members: dict[str, Any]) -> None:
    assert writer(message.DESCRIPTOR)(message) == members


def test_members_of_a_message_within_are_members_of_the_object() -> None:
    model = ModelRef(connector="openai", model="gpt")
    sums = [usage_pb2.UsageSum(model=model, cost_micros=2_500_000), usage_pb2.UsageSum()]
    first, second = map(writer(usage_pb2.UsageSum.DESCRIPTOR), sums)
    assert (first["connector"], first["model"], first["cost_usd"]) == ("openai", "gpt", 2.5)
    assert (second["connector"], second["model"], second["cost_usd"]) == (None, None, None)


def fields(contract: Any, method: str, body: bytes, **path: str) -> dict[str, Any]:
    """Return the fields that a route reads from a body and a path."""
    route = operation("accounts", contract.DESCRIPTOR, method)
    members, place = parse(body)
    transcoder = route.function
    assert isinstance(transcoder, Transcoder)
    assert route.body is not None
    return transcoder.fields(validate(route.body, members), place, None, path)


def test_the_text_of_an_object_is_stored_as_the_client_wrote_it() -> None:
    body = b'{"content": {"big": 12345678901234567890, "a":  1.0}, "title": "ignored"}'
    rubric = fields(rubric_pb2, "UpdateRubric", body, id="r")["rubric"]
    assert rubric["content_json"] == '{"big": 12345678901234567890, "a":  1.0}'
    assert rubric["id"] == "r"
    assert "title" not in rubric


@pytest.mark.parametrize(
    ("method", "body", "place", "reason"),
    [
        ("PutUser", b'{"rolle": "x"}', "rolle", "is not known here"),
        ("PutUser", b'{"role": "boss"}', "role", "must be one of"),
        ("PutUser", b'{"disabled": 1}', "disabled", "must be true or false"),
        ("PutUser", b'{"name": null}', "name", "must be a string"),
        ("CreateKey", b"{}", "name", "is required"),
        ("CreateKey", b'{"name": "n", "scopes": ["a", "admin"]}', "scopes[0]", "must match"),
        ("CreateKey", b'{"name": "n", "expires_at": "5"}', "expires_at", "must be a whole number"),
    ],
)
def test_a_wrong_member_is_named_with_its_reason(
    method: str, body: bytes, place: str, reason: str
) -> None:
    with pytest.raises(InvalidRequestError) as error:
        fields(account_pb2, method, body)
    (violation,) = error.value.violations
    assert violation.field == place
    assert reason in violation.description


def test_a_body_that_names_another_object_than_the_path_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="path"):
        fields(rubric_pb2, "UpdateRubric", b'{"id": "a", "content": {}}', id="b")


def test_the_example_of_the_contract_is_the_one_of_the_tests() -> None:
    (example,) = document(())["components"]["schemas"]["RubricBody"]["examples"]
    assert example == {"public": True, "content": EXAMPLE}
