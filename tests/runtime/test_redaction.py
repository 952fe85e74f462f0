"""`heddle_runtime.redaction`."""

import subprocess
import sys

import pytest
from heddle_runtime.redaction import (
    MAX_CANDIDATES,
    REDACTED,
    redact,
    redact_personal,
    redact_value,
)
from hypothesis import example, given
from hypothesis import strategies as st
from runtime.examples import repetitions

from benchmarks.redaction.__main__ import (
    MAX_FALSE_POSITIVES,
    MAX_SECONDS,
    MIN_RECALL,
    is_missed,
    is_reached,
    measure_false_positives,
    measure_recall,
)
from benchmarks.redaction.hostile import UNITS
from benchmarks.redaction.texts import SecretText

SECRETS = [
    "sk-proj-abcdefghijklmnop0123456789",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "xoxb-123456789012-abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE12",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "Bearer 0p3n-w3bu!abcdefgh"[:19],
    "hk_0123456789abcdef_Zm9v-YmFy_Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9v",
]


def test_the_suite_reaches_the_goals_for_recall_and_false_positives() -> None:
    for seed in range(repetitions(5)):
        assert measure_recall(seed, repetitions(2), show=True) >= MIN_RECALL
        assert measure_false_positives(seed, show=True) <= MAX_FALSE_POSITIVES


@pytest.mark.alone
@pytest.mark.exhaustive  # it works on a hundred texts of a megabyte
def test_the_command_prints_the_figures_and_reaches_the_goals() -> None:
    command = [sys.executable, "-m", "benchmarks.redaction", "--repetitions", "1"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=100)  # noqa: S603 - our own module

    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    names = [line.partition(":")[0] for line in done.stdout.decode().splitlines()]
    assert names == ["recall", "false positives", "time"]


@pytest.mark.parametrize(
    ("recall", "false_positives", "seconds", "reached"),
    [
        (MIN_RECALL, MAX_FALSE_POSITIVES, MAX_SECONDS / 2, True),
        (MIN_RECALL - 0.01, 0.0, 0.0, False),
        (1.0, MAX_FALSE_POSITIVES + 0.01, 0.0, False),
        (1.0, 0.0, MAX_SECONDS, False),
    ],
)
def test_each_figure_can_miss_its_goal(
    recall: float, false_positives: float, seconds: float, reached: bool
) -> None:
    assert is_reached(recall, false_positives, seconds) is reached


def test_the_suite_sees_a_secret_of_which_a_half_is_left() -> None:
    assert is_missed(SecretText("x", "the note abcdefgh12345678", ("abcdefgh12345678",)))
    assert is_missed(SecretText("x", "with password=a1b2c3d4,e5f6g7h8", ("a1b2c3d4,e5f6g7h8",)))
    assert not is_missed(SecretText("x", "password=a1b2c3d4e5f6g7h8", ("a1b2c3d4e5f6g7h8",)))


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_gone_and_the_rest_stays(secret: str) -> None:
    assert redact(f"before {secret} after") == f"before {REDACTED} after"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ana:s3cret@db/x is down", "postgresql://ana:[redacted]@db/x is down"),
        ('{"api_key": "abc", "model": "gpt-4o"}', '{"api_key": "[redacted]", "model": "gpt-4o"}'),
        ("password=hunter2, user=ana", "password=[redacted], user=ana"),
        ("Cookie: a=b; sid=1234\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("Authorization: Basic YW5hOmI= was sent", "Authorization: [redacted] was sent"),
        ("\x1b[31mpassword=\x1b[0mhunter2 é", "password=[redacted] é"),
        ("a token\npassword=hunter2", "a token\npassword=[redacted]"),
        ("the naïve password=hunter2 — ça va", "the naïve password=[redacted] — ça va"),
        ("?dsn=amqp%3A%2F%2Fu%3Apw%40db&x=1", "?dsn=amqp%3A%2F%2Fu%3A[redacted]%40db&x=1"),
        ("to=redis%253A%252F%252F%253Apw1%2540db", "to=redis%253A%252F%252F%253A[redacted]%2540db"),
        (r'{"url": "smtp:\/\/u:s3cret@mail\/x"}', r'{"url": "smtp:\/\/u:[redacted]@mail\/x"}'),
        ("url: cG9zdGdyZXNxbDovL3U6czNjcmV0QGRiL3g= é", "url: [redacted]= é"),
        ("api_key=AQ.Ab8RN6kX, password=pw.x9Kd2", "api_key=[redacted], password=[redacted]"),
        ("password=xk1à12345 y 密码:a1b2c3d4 là", "password=[redacted] y 密码:[redacted] là"),
    ],
)  # fmt: skip
def test_only_the_secret_is_replaced(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert redact(shown) == shown


def test_the_escape_sequences_of_a_text_without_a_secret_stay() -> None:
    text = "\x1b[32mINFO\x1b[0m loaded \x1b[1mgpt-4o\x1b[0m"
    assert redact(text) == text


def test_an_address_is_personal_and_no_secret() -> None:
    text = "write to ann.smith@example.org, password=hunter2"

    assert redact(text) == "write to ann.smith@example.org, password=[redacted]"
    assert redact_personal(text) == "write to [redacted], password=[redacted]"
    assert redact_value({"by": "ann@example.org"}) == {"by": "ann@example.org"}
    assert redact_value({"by": ["ann@example.org"]}, personal=True) == {"by": [REDACTED]}


def test_members_with_telling_names_are_hidden_whatever_they_hold() -> None:
    value = {"api_key": "x", "nested": [{"Password": "y", "top_k": 3}], "token_count": 7}

    assert redact_value(value) == {
        "api_key": REDACTED,
        "nested": [{"Password": REDACTED, "top_k": 3}],
        "token_count": 7,
    }


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        *((name, True) for name in ("accessToken", "X-Api-Key", "clientSecret", "db.password")),
        *((name, True) for name in ("dbpassword", "credentials", "auth", "Set-Cookie", "API_KEY")),
        *((name, False) for name in ("next_page_token", "nextPageToken", "eos_token", "tokens")),
        *((name, False) for name in ("public_key", "tokenizer", "keywords", "author", "secretary")),
    ],
)  # fmt: skip
def test_the_name_of_a_member_tells_whether_it_is_secret(name: str, is_secret: bool) -> None:
    assert (redact_value({name: "word"}) == {name: REDACTED}) is is_secret


def test_the_rest_is_withheld_after_very_many_secrets() -> None:
    text = redact("password=abc1 " * (MAX_CANDIDATES + 10) + "password=the-last-one")

    assert text.count(REDACTED) == MAX_CANDIDATES + 1
    assert "the-last-one" not in text
    assert text.endswith(REDACTED)


@given(st.text(max_size=200), st.sampled_from(SECRETS), st.text(max_size=200))
@example("\x9b", SECRETS[0], "")
def test_a_secret_between_spaces_never_survives(before: str, secret: str, after: str) -> None:
    assert secret not in redact(f"{before} {secret} {after}")


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=400))
def test_any_text_can_be_redacted_again_without_a_change(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@given(st.lists(st.sampled_from([*UNITS, *"àÅ密²\u2005\xa0\x85", "a1b2c3d4"]), max_size=30))
def test_a_secret_may_have_any_characters(units: list[str]) -> None:
    text = "".join(units)

    assert len(redact(text)) <= len(text) + len(REDACTED) * MAX_CANDIDATES
    assert "a1à345" not in redact(f"{text}\npassword=xka1à345")


@pytest.mark.parametrize("size", [0, 300, 20_000])
def test_an_encoded_secret_is_found_wherever_it_stands_in_a_text(size: int) -> None:
    around = "the loom weaves a b1 " * (size // 20)
    text = (
        f"{around}api_key%3D{'q1w2e3r4' * 20}%26 {around}"
        f"?dsn=amqp%3A%2F%2Fu%3Ax9y8z7w6%40db{around} password%3Dhunter2"
    )

    assert redact(text) == (
        f"{around}api_key%3D{REDACTED}%26 {around}"
        f"?dsn=amqp%3A%2F%2Fu%3A{REDACTED}%40db{around} password%3D{REDACTED}"
    )
