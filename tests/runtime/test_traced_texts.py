"""Texts in spans: redacted JSON of a bounded size."""

import json
from collections.abc import Iterator

import pytest
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.telemetry import content, spans
from recorded_spans import DRAWN, Recorded, recorded


@pytest.fixture
def received() -> Iterator[Recorded]:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    with recorded() as spans_:
        yield spans_
    content.switch(on=False)


def test_texts_are_wanted_only_in_drawn_requests_and_if_the_operator_says_so(
    received: Recorded,
) -> None:
    assert not content.is_on()
    content.switch(on=True)
    assert content.is_on()
    CALLER.set(Caller("req_1", traceparent=spans.undrawn(DRAWN)))
    assert not content.is_on()
    assert received.spans == []


def test_texts_have_no_secrets_and_no_addresses() -> None:
    value = [{"password": "s3cret-of-ann"}, "ann@example.org", {"n": 1, "texts": ("a", None)}]
    assert json.loads(content.json_text(value)) == [
        {"password": "[redacted]"},
        "[redacted]",
        {"n": 1, "texts": ["a", None]},
    ]


@pytest.mark.parametrize(
    "value",
    [
        "ü" * 100_000,
        ["\0" * 20_000] * 3,
        [{"role": "user", "content": f"message {number}"} for number in range(2_000)],
        {f"member {number}": "x" * 100 for number in range(5_000)},
    ],
    ids=["a text", "escapes", "a conversation", "an object"],
)
def test_a_value_is_json_of_at_most_16_kib(value: object) -> None:
    text = content.json_text(value)
    assert len(text.encode()) <= content.MAX_BYTES
    json.loads(text)


def test_of_a_long_conversation_the_last_messages_remain() -> None:
    value = [f"message {number}" for number in range(5_000)]
    assert json.loads(content.json_text(value))[-1] == "message 4999"


def test_a_secret_at_the_place_of_a_cut_is_not_shown() -> None:
    secret = "sk-proj-" + "a1B2" * 12
    for start in (content.MAX_BYTES - 20, 2 * content.MAX_BYTES - 20):
        text = content.plain_text("x " * (start // 2) + secret)
        assert len(text.encode()) <= content.MAX_BYTES
        assert "a1B2" not in text


def test_an_attribute_without_a_text_is_left_out(received: Recorded) -> None:
    with spans.span("work"):
        content.add({"gen_ai.input.messages": [], "gen_ai.retrieval.query.text": "heron"})
    assert received.attributes("work") == {"gen_ai.retrieval.query.text": "heron"}
