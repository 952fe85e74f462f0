"""What people are told of a call that a model asked for."""

import json
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2
from heddle_orchestrator.tools.function_call import FunctionCall

KEY = "sk-" + "a1" * 20


def shown(arguments: str) -> str:
    return FunctionCall.read(chat_pb2.ToolCall(id="c", name="f", arguments_json=arguments)).shown


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "the key " + KEY}, {"query": "the key [redacted]"}),
        ({"query": 'a "quoted" text', "k": 3}, {"query": 'a "quoted" text', "k": 3}),
        # Redacted as text, these two would lose what is between the colon and the @.
        (
            {"site": "https://ana:", "mail": "at@home"},
            {"site": "https://ana:", "mail": "at@home"},
        ),
        ({"text": "half \ud83d"}, {"text": "half \ufffd"}),
        ({"text": "wörter"}, {"text": "wörter"}),
    ],
)
def test_arguments_are_told_as_the_object_that_they_are(
    arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert json.loads(shown(json.dumps(arguments))) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "word " * 10_000, "more": "x"},
        {"texts": ["word " * 100, "word " * 100, "word " * 100], "deep": {"text": "x" * 300}},
        {"text": "x" * 985 + f" {KEY}"},
        {"texts": ["x" * 60] * 17},
    ],
)
def test_long_texts_are_cut_inside_so_that_the_arguments_stay_json(
    arguments: dict[str, Any],
) -> None:
    expected = shown(json.dumps(arguments))

    assert len(expected) <= 1_000
    assert json.loads(expected).keys() == arguments.keys()
    assert "…" in expected
    assert "a1a1" not in expected


def test_arguments_that_have_no_room_are_left_out_and_counted() -> None:
    text = json.dumps({f"argument_{number}": "word" for number in range(100)})

    assert json.loads(shown(text)) == {"…": f"100 arguments of {len(text):,} characters"}


def test_what_is_no_object_is_told_as_it_was_written() -> None:
    assert shown("search(" + KEY + ")" + "x" * 2_000) == ("search([redacted])" + "x" * 982)


@pytest.mark.parametrize("levels", [100, 500, 950])
def test_arguments_are_told_however_deep_they_are(levels: int) -> None:
    assert 0 < len(shown('{"a":' * levels + "1" + "}" * levels)) <= 1_000
