"""What tools are called with: found in the request, or copied out of it by a model."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

import pytest
from heddle_orchestrator.agent.argument import evidence
from heddle_orchestrator.agent.days import dates
from heddle_orchestrator.agent.decision import (
    Answer,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
)
from heddle_orchestrator.agent.guard import RepeatGuard
from heddle_orchestrator.agent.inputs import filled_in
from heddle_orchestrator.agent.numbers import assigned
from heddle_orchestrator.agent.spans import arithmetic, pieces, quoted
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.validation import checked

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
UNITS = {"enum": ["EUR", "USD", "GBP"]}


def tool(
    properties: Mapping[str, Any],
    *examples: tuple[str, Mapping[str, Any]],
    needed: Sequence[str] | None = None,
    description: str = "Does it.",
) -> Candidate:
    required = list(properties) if needed is None else list(needed)
    schema = {"type": "object", "properties": properties, "required": required}
    shown = [(asked, json.dumps(inputs)) for asked, inputs in examples]
    return Candidate("do_it", description, schema, shown)


async def nobody(_: Question) -> Answer:
    raise AssertionError("The model is asked what stands in the request.")


class Copyist:
    """A model that writes what it is told to, and remembers what it was allowed to write."""

    def __init__(self, **inputs: Any) -> None:
        self.inputs = inputs
        self.allowed: Mapping[str, Any] = {}

    async def __call__(self, question: Question) -> Answer:
        schema = question.extra["response_format"]["json_schema"]["schema"]
        self.allowed = schema["properties"]
        return Answer(json.dumps(self.inputs))


@pytest.mark.parametrize(
    ("request_", "candidate", "inputs"),
    [
        ("Where is my order 48213?", tool({"order_id": WHOLE}), {"order_id": 48213}),
        ("I pay 1,250 or so", tool({"amount": {"type": "number"}}), {"amount": 1250}),
        ("Set it to 21", tool({"degrees": {"type": "number"}}), {"degrees": 21}),
        ("Four nights", tool({"nights": WHOLE}), {"nights": 4}),
        (
            "4 stars and 5 nights",
            tool({"nights": WHOLE, "stars": WHOLE}, needed=["nights"]),
            {"nights": 5, "stars": 4},
        ),
        (
            "Student 2080 in 2024",
            tool({"student": WHOLE, "year": {"type": "integer", "minimum": 2000}}),
            {"student": 2080, "year": 2024},
        ),
        ("Page 7", tool({"page": WHOLE, "limit": WHOLE}, needed=["page"]), {"page": 7}),
        (
            "Find 5 papers on 3D printing",
            tool({"query": TEXT, "limit": WHOLE}, needed=["query"]),
            {"query": "Find 5 papers on 3D printing", "limit": 5},
        ),
        ("On 2026-03-14", tool({"day": {**TEXT, "format": "date"}}), {"day": "2026-03-14"}),
        ("On 3 April 2026", tool({"date": {**TEXT, "format": "date"}}), {"date": "2026-04-03"}),
        (
            "To eva@example.org",
            tool({"to": {**TEXT, "format": "email"}}),
            {"to": "eva@example.org"},
        ),
        (
            "Card B20417, please",
            tool({"card": {**TEXT, "pattern": "^[A-Z]\\d{5}$"}}),
            {"card": "B20417"},
        ),
        ("300 USD in EUR", tool({"have": UNITS, "want": UNITS}), {"have": "USD", "want": "EUR"}),
        (
            "Hot, in EUR",
            tool({"unit": UNITS, "other": UNITS}, needed=["unit"]),
            {"unit": "EUR", "other": "EUR"},
        ),
        ("What is 12 times 9?", tool({"expression": TEXT}), {"expression": "12 * 9"}),
        ("How much is (3 + 4) * 5", tool({"expression": TEXT}), {"expression": "(3 + 4) * 5"}),
        ("Count 'to be or not'", tool({"text": TEXT}), {"text": "to be or not"}),
        ("Count the words: to be or not", tool({"text": TEXT}), {"text": "to be or not"}),
        ("The gist of notes.md please", tool({"document": TEXT}), {"document": "notes.md"}),
        (
            "Lights off in the kitchen",
            tool(
                {"room": {"enum": ["kitchen", "hall"]}, "on": {"type": "boolean"}}, needed=["room"]
            ),
            {"room": "kitchen", "on": False},
        ),
        (
            "Urgent: the lift is stuck",
            tool(
                {"message": TEXT, "priority": {"enum": ["low", "high"]}},
                ("Urgent: the printer burns", {"message": "the printer burns", "priority": "high"}),
                ("Tell: the lamp flickers", {"message": "the lamp flickers"}),
                needed=["message"],
            ),
            {"message": "the lift is stuck", "priority": "high"},
        ),
        ("Hello", tool({"unit": UNITS}, needed=[]), {}),
    ],
)
async def test_what_stands_in_the_request_is_read_by_code(
    request_: str, candidate: Candidate, inputs: Mapping[str, Any]
) -> None:
    assert await filled_in(nobody, request_, candidate) == inputs


async def test_a_model_may_copy_pieces_of_the_request_that_are_no_other_input() -> None:
    candidate = tool({"title": TEXT, "date": {**TEXT, "format": "date"}})
    model = Copyist(title="dentist visit")

    found = await filled_in(model, "Please put a dentist visit on 2026-03-14", candidate)

    assert found == {"title": "dentist visit", "date": "2026-03-14"}
    assert list(model.allowed) == ["title"]  # the day is settled
    assert "dentist visit" in model.allowed["title"]["enum"]
    assert not any("2026" in each for each in model.allowed["title"]["enum"])


async def test_a_model_may_write_what_examples_show_that_nobody_copies() -> None:
    example = ("How many runlevels are there?", {"query": "number of runlevels"})
    model = Copyist(query="seats of a car")

    await filled_in(model, "How many seats are there?", tool({"query": TEXT}, example))

    assert "enum" not in model.allowed["query"]


async def test_what_may_be_left_out_is_if_it_only_repeats_another_input() -> None:
    example = ("Have we a clutch for the Panda?", {"part": "clutch", "model": "Panda"})
    candidate = tool({"part": TEXT, "model": TEXT}, example, needed=["part"])

    found = await filled_in(Copyist(part="lamps", model="lamps"), "Do we stock lamps?", candidate)

    assert found == {"part": "lamps"}


async def test_references_and_inputs_that_may_be_null_are_read() -> None:
    schema = {
        "type": "object",
        "$defs": {"Unit": UNITS},
        "properties": {
            "unit": {"$ref": "#/$defs/Unit"},
            "year": {"anyOf": [WHOLE, {"type": "null"}]},
        },
        "required": ["unit"],
    }

    inputs = await filled_in(nobody, "GBP in the year 1999", Candidate("do_it", "Does.", schema))

    assert inputs == {"unit": "GBP", "year": 1999}


def test_a_tool_whose_inputs_stand_in_the_request_is_likelier() -> None:
    number, mail = tool({"order": WHOLE}), tool({"to": {**TEXT, "format": "email"}})

    assert evidence("Where is 4711?", number) > 0 > evidence("Where is 4711?", mail)
    assert evidence("Tell a@b.org", mail) > 0 > evidence("Tell a@b.org", number)
    assert evidence("What is it in GBP?", tool({"unit": UNITS}, needed=[])) > 0


def test_pieces_end_where_names_end() -> None:
    found = pieces("Is the eye specialist near Girona good?", frozenset({"good"}))

    assert "eye specialist" in found
    assert "Girona" in found
    assert not any(each.startswith(("Is", "the ")) or each.endswith("good") for each in found)
    assert pieces("Book a haircut", frozenset()) == ["haircut"]
    assert "auth" in pieces("auth does not respond", frozenset())
    assert pieces("the it", frozenset()) == ["the", "the it", "it"]  # better than nothing


@pytest.mark.parametrize("text", ["1" * 100_000, "word, " * 20_000, "(" * 100_000, "a." * 50_000])
async def test_a_long_request_is_read_in_a_moment(text: str) -> None:
    candidate = tool({"expression": TEXT, "file": TEXT, "name": TEXT, "count": WHOLE})
    model = Copyist(name="x")
    began = time.process_time()

    await filled_in(model, text, candidate)

    assert time.process_time() - began < 10  # it takes a hundredth of that
    assert all(len(each.get("enum", ())) <= 120 for each in model.allowed.values())


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|aa)+$", "^((?=a)(a|a))*$"])
async def test_a_hostile_pattern_of_a_tool_ends(pattern: str) -> None:
    candidate = tool({"code": {**TEXT, "pattern": pattern}}, needed=["code"])
    asked = Choice("do_it", {"code": "a" * 100 + "!"})
    began = time.process_time()

    await filled_in(Copyist(code="x"), f"Look at {'a' * 100}b {'aa ' * 1_000}", candidate)
    with pytest.raises(UndecidedError, match=r"break the rule 'pattern' at code"):
        checked(Decision((asked,), "why", "model"), [candidate], RepeatGuard(State("x")))

    assert time.process_time() - began < 10  # centuries otherwise


def test_a_choice_goes_on_where_its_tool_has_a_broken_schema(
    capsys: pytest.CaptureFixture[str],
) -> None:
    candidate = tool({"code": {**TEXT, "pattern": "(unbalanced"}})
    asked = Choice("do_it", {"code": "A-1"})

    kept = checked(Decision((asked,), "why", "model"), [candidate], RepeatGuard(State("x")))

    assert kept.choices == (asked,)
    assert "properties/code/pattern: is no pattern of ECMA-262" in capsys.readouterr().out


def test_days_are_read_as_people_write_them() -> None:
    today = date(2026, 3, 10)

    assert dates("on May 2nd, or 4 March", today) == [date(2026, 5, 2), date(2027, 3, 4)]
    assert dates("tomorrow, and 3/12/2026", today) == [date(2026, 3, 11), date(2026, 12, 3)]
    assert dates("31 February 2026, you may 12", today) == [date(2026, 5, 12)]


def test_many_numbers_for_many_inputs_come_to_an_end() -> None:
    numbers = {f"n{index}": {"type": "number"} for index in range(40)}
    given = assigned("1 2 3 4 5 6 7 8", numbers, list(numbers))
    assert given == {"n0": 1, "n1": 2, "n2": 3, "n3": 4, "n4": 5, "n5": 6}


@pytest.mark.alone
@pytest.mark.parametrize("read", [quoted, arithmetic])
@pytest.mark.parametrize("text", ["«", "« ", "\u2018", "“", " '", " ", "1 ", "(1"])
def test_hostile_requests_take_no_longer(read: Callable[[str], object], text: str) -> None:
    began = time.thread_time()
    read((text * 20_000)[:2_000] if read is arithmetic else (text * 20_000)[:20_000])
    assert time.thread_time() - began < 0.2
