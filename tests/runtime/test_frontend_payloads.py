"""The four outputs, in the form in which frontends get them."""

import json
import math
from datetime import date
from typing import Any

import pytest
from heddle_runtime.contract.frontend_payloads import Error, Response, Result, Status, ToolOutput

SECRET = "sk-" + "a1" * 20


@pytest.mark.parametrize(
    ("output", "kind", "payload"),
    [
        (
            Result([{"page": 3}], "guide", {"count": 1}, "Found one.", tool="search"),
            "result",
            {
                "tool": "search",
                "name": "guide",
                "objects": [{"page": 3}],
                "metadata": {"count": 1},
                "llm_message": "Found one.",
            },
        ),
        (
            Error("Down.", recoverable=True, suggestion="Try later", tool="search"),
            "error",
            {"tool": "search", "message": "Down.", "recoverable": True, "suggestion": "Try later"},
        ),
        (
            Response("It is 22.", [{"page": 3, "manual": "Guide"}]),
            "response",
            {"text": "It is 22.", "sources": [{"page": 3, "manual": "Guide"}]},
        ),
        (Status("Searching..."), "status", {"message": "Searching..."}),
    ],
)
def test_every_output_has_a_type_a_query_id_and_a_payload(
    output: ToolOutput, kind: str, payload: object
) -> None:
    told = output.to_frontend("q1")

    assert told == {"type": kind, "query_id": "q1", "payload": payload}
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_what_json_does_not_know_becomes_text_or_nothing() -> None:
    odd: dict[Any, object] = {
        "when": date(2026, 1, 2),
        "rank": math.nan,
        7: {"a"},
        "pair": (1, True),
    }

    told = Result([odd]).to_frontend("q1")["payload"]["objects"]

    assert told == [{"when": "2026-01-02", "rank": None, "7": ["a"], "pair": [1, True]}]
    assert json.dumps(told, allow_nan=False)


def test_what_contains_itself_ends() -> None:
    deep: dict[str, object] = {}
    deep["deep"] = deep

    assert len(json.dumps(Result([deep]).to_frontend("q1"))) < 10_000


@pytest.mark.parametrize("before", [0, 1_990])
def test_secrets_are_hidden_also_where_a_text_is_cut(before: int) -> None:
    text = "x" * (before - 1) + " " * bool(before) + SECRET + "." * 5_000
    outputs: list[ToolOutput] = [
        Result([{"text": text}], metadata={"password": "hunter2"}, llm_message=text),
        Error(text, suggestion=text),
        Status(text),
    ]

    told = json.dumps([output.to_frontend("q1") for output in outputs])

    assert SECRET[:8] not in told
    assert "hunter2" not in told


def test_long_texts_are_cut_and_what_has_no_room_is_counted() -> None:
    few = Result([{"text": "y" * 3_000}]).to_frontend("q1")["payload"]
    many = Result([{"text": "y" * 3_000, "n": n} for n in range(100)]).to_frontend("q1")["payload"]

    assert few["objects"] == [{"text": "y" * 1_999 + "…"}]
    assert "left_out" not in few
    assert [each["n"] for each in many["objects"]] == list(range(len(many["objects"])))
    assert len(many["objects"]) + many["left_out"] == 100
    assert 40_000 < len(json.dumps(many)) < 110_000


def test_an_answer_stays_as_it_was_said() -> None:
    assert Response("z" * 9_000).to_frontend("q1")["payload"]["text"] == "z" * 9_000
