"""`heddle_runtime.redaction`."""

import time

import pytest
from heddle_runtime.redaction import REDACTED, redact, redact_value
from hypothesis import given
from hypothesis import strategies as st

SECRETS = [
    "sk-proj-abcdefghijklmnop0123456789",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "xoxb-123456789012-abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE12",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "Bearer 0p3n-w3bu!abcdefgh"[:19],
    "ann.smith@example.org",
    "hk_0123456789abcdef_Zm9v-YmFy_Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9v",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_gone_and_the_rest_stays(secret: str) -> None:
    text = redact(f"before {secret} after")

    assert text == f"before {REDACTED} after"


def test_the_password_of_an_address_is_gone() -> None:
    assert "s3cret" not in redact("postgresql://heddle:s3cret@db/heddle is down")


@pytest.mark.parametrize(
    "clean",
    [
        "reading file 1/notes.md",
        "Final Score = 3 / 4",
        "task-list",
        "sketch",
        "a@b",
        "kb-1",
        "risk-free",
    ],
)
def test_clean_text_stays(clean: str) -> None:
    assert redact(clean) == clean


def test_members_with_telling_names_are_hidden_whatever_they_hold() -> None:
    value = {"api_key": "x", "nested": [{"Password": "y", "top_k": 3}], "token_count": 7}

    assert redact_value(value) == {
        "api_key": REDACTED,
        "nested": [{"Password": REDACTED, "top_k": 3}],
        "token_count": 7,
    }


@given(st.text(max_size=200), st.sampled_from(SECRETS), st.text(max_size=200))
def test_a_secret_between_spaces_never_survives(before: str, secret: str, after: str) -> None:
    assert secret not in redact(f"{before} {secret} {after}")


@pytest.mark.parametrize("unit", ["sk-", "a.", "eyJ", "a@", "x://", "Bearer ", "-----BEGIN "])
def test_hostile_text_takes_no_longer_than_its_length(unit: str) -> None:
    started = time.thread_time()
    redact(unit * (100_000 // len(unit)))

    assert time.thread_time() - started < 0.5
