"""The arguments of a chosen tool: the question, or what a model writes under the tool's schema."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2
from heddle_orchestrator.agent.decision import (
    Answer,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
)
from heddle_orchestrator.agent.routers.arguments import arguments_for
from heddle_orchestrator.agent.state import State, initial_state
from heddle_orchestrator.agent.validation import validated

TEXT = {"type": "string"}
INTEGER = {"type": "integer"}
UNIT = {"enum": ["EUR", "USD"]}
QUESTION = "Please put a dentist visit on 2026-03-14!"


def tool(
    properties: Mapping[str, Any],
    *examples: tuple[str, Mapping[str, Any]],
    required: Sequence[str] | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Candidate:
    names = list(properties) if required is None else list(required)
    whole = {"type": "object", "properties": properties, "required": names, **(schema or {})}
    shown = [(request, json.dumps(arguments)) for request, arguments in examples]
    return Candidate("do_it", "Does it.", whole, shown)


def state(text: str, *earlier: str) -> State:
    """Return the state of a run that answers the last of some questions."""
    messages = [
        chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=[chat_pb2.ContentPart(text=each)])
        for each in (*earlier, text)
    ]
    return initial_state(messages, messages)


async def no_model(_: Question) -> Answer:
    raise AssertionError("The model is asked for arguments that the question fills.")


class Writer:
    """A model that writes fixed arguments and stores the questions."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        self.questions: list[Question] = []

    @property
    def schema(self) -> Mapping[str, Any]:
        """The schema of the only question."""
        [question] = self.questions
        schema: Mapping[str, Any] = question.extra["response_format"]["json_schema"]["schema"]
        return schema

    async def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        return Answer(json.dumps(self.arguments))


@pytest.mark.parametrize("name", ["query", "question", "prompt"])
async def test_the_question_fills_a_free_text_argument_without_a_model(name: str) -> None:
    candidate = tool({name: TEXT, "limit": INTEGER}, required=[name])

    assert await arguments_for(no_model, state(QUESTION), candidate) == {name: QUESTION}


async def test_a_tool_without_required_arguments_gets_none() -> None:
    assert await arguments_for(no_model, state(QUESTION), tool({"unit": UNIT}, required=[])) == {}


async def test_the_model_writes_the_other_required_arguments_under_their_schemas() -> None:
    candidate = tool(
        {"query": TEXT, "count": INTEGER, "unit": UNIT, "day": {**TEXT, "format": "date"}},
        required=["query", "count", "unit"],
    )
    model = Writer(count=3, unit="EUR")

    arguments = await arguments_for(model, state(QUESTION), candidate)

    assert arguments == {"query": QUESTION, "count": 3, "unit": "EUR"}
    assert model.schema == {
        "type": "object",
        "properties": {"count": INTEGER, "unit": UNIT},
        "required": ["count", "unit"],
        "additionalProperties": False,
    }


async def test_a_text_argument_must_be_a_part_of_the_question() -> None:
    model = Writer(title="dentist visit")

    await arguments_for(model, state(QUESTION), tool({"title": TEXT}))

    allowed = model.schema["properties"]["title"]["enum"]
    assert {"dentist", "dentist visit", "2026-03-14"} <= set(allowed)
    assert all(each in QUESTION for each in allowed)
    assert not any(each.endswith("!") for each in allowed)


async def test_a_text_argument_must_fit_its_pattern_too() -> None:
    model = Writer(day="2026-03-14")
    pattern = "^\\d{4}-\\d{2}-\\d{2}$"

    await arguments_for(model, state(QUESTION), tool({"day": {**TEXT, "pattern": pattern}}))

    assert model.schema["properties"] == {"day": {"enum": ["2026-03-14"]}}


async def test_the_model_writes_a_date_in_the_format_of_the_schema() -> None:
    day = {**TEXT, "format": "date"}
    model = Writer(day="2026-03-14")

    await arguments_for(model, state(QUESTION), tool({"day": day}))

    assert model.schema["properties"] == {"day": day}


async def test_constraints_and_references_of_a_schema_reach_the_model() -> None:
    code = {**TEXT, "pattern": "^[A-Z]-[0-9]+$"}  # no part of the question fits it
    definitions: Mapping[str, Any] = {"$defs": {"U": UNIT}}
    candidate = tool({"code": code, "unit": {"$ref": "#/$defs/U"}}, schema=definitions)
    model = Writer(code="A-1", unit="EUR")

    await arguments_for(model, state(QUESTION), candidate)

    assert model.schema["properties"] == {"code": code, "unit": {"$ref": "#/$defs/U"}}
    assert model.schema["$defs"] == {"U": UNIT}


async def test_the_examples_of_a_tool_show_the_model_what_to_write() -> None:
    example = ("A visit on Monday", {"title": "visit", "minutes": 30})
    model = Writer(title="dentist")

    await arguments_for(
        model,
        state(QUESTION),
        tool({"title": TEXT, "minutes": INTEGER}, example, required=["title"]),
    )

    [question] = model.questions
    texts = [each.parts[0].text for each in question.messages]
    assert texts[1:] == ["A visit on Monday", '{"title": "visit"}', QUESTION]


async def test_a_model_that_writes_no_arguments_decides_nothing() -> None:
    with pytest.raises(UndecidedError, match="writes no arguments for 'do_it'"):
        await arguments_for(Writer(), state(QUESTION), tool({"title": TEXT}))


@pytest.mark.parametrize(
    "text", ["1" * 100_000, "word, " * 20_000, "a (" * 50_000, "a . " * 30_000]
)
async def test_the_parts_of_a_long_question_are_few(text: str) -> None:
    model = Writer(title="x")
    started = time.process_time()

    await arguments_for(model, state(text), tool({"title": TEXT}))

    assert time.process_time() - started < 10  # it takes a hundredth of that
    assert len(model.schema["properties"]["title"].get("enum", ())) <= 151


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|aa)+$", "^((?=a)(a|a))*$"])
async def test_a_hostile_pattern_of_a_tool_ends(pattern: str) -> None:
    candidate = tool({"code": {**TEXT, "pattern": pattern}}, required=["code"])
    choice = Choice("do_it", {"code": "a" * 100 + "!"})
    model = Writer(code="x")
    started = time.process_time()

    await arguments_for(model, state(f"Look at {'a' * 100}b {'aa ' * 1_000}"), candidate)
    with pytest.raises(UndecidedError, match=r"break the rule 'pattern' at code"):
        validated(Decision((choice,), "why", "model"), [candidate], state("x"))

    assert time.process_time() - started < 10  # centuries otherwise


def test_a_choice_is_valid_where_the_schema_of_its_tool_is_broken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    candidate = tool({"code": {**TEXT, "pattern": "(unbalanced"}})
    choice = Choice("do_it", {"code": "A-1"})

    decision = validated(Decision((choice,), "why", "model"), [candidate], state("x"))

    assert decision.choices == (choice,)
    assert "properties/code/pattern: is no pattern of ECMA-262" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "values"),
    [("in usd or EUR, please", ["EUR", "USD"]), ("in USD", ["USD"]), ("in europe", None)],
)
async def test_an_optional_argument_is_filled_if_the_question_contains_a_listed_value(
    words: str, values: list[str] | None
) -> None:
    writer = Writer(amount=3, unit="USD")
    arguments = await arguments_for(
        writer,
        state(f"3 coins {words}"),
        tool({"amount": INTEGER, "unit": UNIT}, required=["amount"]),
    )

    assert arguments["amount"] == 3
    assert writer.schema["properties"].get("unit") == (None if values is None else {"enum": values})
    assert ("unit" in writer.schema["required"]) is (values is not None)


@pytest.mark.parametrize(
    ("pattern", "portable"),
    [(r"^\d{4}-\d$", "^[0-9]{4}-[0-9]$"), (r"^[\dA-F\]]+\\d$", r"^[0-9A-F\]]+\\d$")],
)
async def test_digits_of_a_pattern_are_written_so_that_every_engine_reads_them(
    pattern: str, portable: str
) -> None:
    writer = Writer(code="1")
    await arguments_for(writer, state(QUESTION), tool({"code": {**TEXT, "pattern": pattern}}))

    assert writer.schema["properties"]["code"]["pattern"] == portable


@pytest.mark.parametrize("name", ["searchQuery", "search_query", "user_question", "QUERY"])
async def test_words_of_a_name_say_that_an_argument_takes_the_question(name: str) -> None:
    assert await arguments_for(no_model, state(QUESTION), tool({name: TEXT})) == {name: QUESTION}


@pytest.mark.parametrize("schema", [UNIT, {**TEXT, "pattern": "^[A-Z]+$"}, INTEGER])
async def test_a_query_that_is_no_free_text_is_decoded(schema: Mapping[str, Any]) -> None:
    model = Writer(query="EUR")

    assert await arguments_for(model, state("EUR"), tool({"query": schema})) == {"query": "EUR"}


async def test_the_question_is_cut_to_the_longest_text_of_the_schema() -> None:
    candidate = tool({"query": {**TEXT, "maxLength": 6}})

    assert await arguments_for(no_model, state(QUESTION), candidate) == {"query": "03-14!"}


async def test_a_free_text_contains_the_earlier_question_that_it_refers_back_to() -> None:
    questions = state("And on Sundays?", "When does the library open?")

    arguments = await arguments_for(no_model, questions, tool({"query": TEXT}))

    assert arguments == {"query": "When does the library open? And on Sundays?"}


NULL = {"type": "null"}
PARTS = ["blue", "socks", "blue socks"]


@pytest.mark.parametrize(
    ("schema", "constrained"),
    [
        ({"type": ["string", "null"]}, {"anyOf": [{"enum": PARTS}, {"type": ["null"]}]}),
        ({"anyOf": [TEXT, NULL]}, {"anyOf": [{"enum": PARTS}, NULL]}),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": {"enum": PARTS}}),
        (
            {"type": "object", "properties": {"a": TEXT}},
            {"type": "object", "properties": {"a": {"enum": PARTS}}},
        ),
        (
            {"type": "object", "additionalProperties": TEXT},
            {"type": "object", "additionalProperties": {"enum": PARTS}},
        ),
        (
            {"description": "Anything."},
            {"anyOf": [{"enum": PARTS}, {"type": "number"}, {"type": "boolean"}]},
        ),
        ({**TEXT, "maxLength": 4}, {"enum": ["blue"]}),
        ({**TEXT, "format": "email"}, {"enum": PARTS}),
        ({"const": "x"}, {"const": "x"}),
        ({"type": "boolean"}, {"type": "boolean"}),
    ],
)
async def test_no_text_of_a_schema_may_have_other_words(
    schema: Mapping[str, Any], constrained: Mapping[str, Any]
) -> None:
    model = Writer(what="blue")

    await arguments_for(model, state("Blue socks?".lower()), tool({"what": schema}))

    assert model.schema["properties"] == {"what": constrained}


async def test_texts_in_definitions_are_constrained_too() -> None:
    model = Writer(what="socks")
    definitions = {"$defs": {"Thing": TEXT}}

    await arguments_for(
        model, state("socks"), tool({"what": {"$ref": "#/$defs/Thing"}}, schema=definitions)
    )

    assert model.schema["$defs"] == {"Thing": {"enum": ["socks"]}}


@pytest.mark.parametrize("text", ["a bc", "(" * 100_000])
async def test_a_question_without_a_text_that_fits_decides_nothing(text: str) -> None:
    with pytest.raises(UndecidedError, match="contains no text for 'do_it'"):
        await arguments_for(no_model, state(text), tool({"code": {**TEXT, "minLength": 9}}))


@pytest.mark.parametrize(
    ("earlier", "text", "values"),
    [
        ("In EUR", "And in USD?", ["USD"]),
        ("In EUR", "How many are there?", ["EUR"]),
        ("In EUR", "Which banks sell coins of silver today?", None),
    ],
)
async def test_listed_values_come_from_the_question_before_the_conversation(
    earlier: str, text: str, values: list[str] | None
) -> None:
    model = Writer(amount=3)
    unit = {"anyOf": [{"$ref": "#/$defs/Unit"}, NULL]}
    candidate = tool(
        {"amount": INTEGER, "unit": unit}, required=["amount"], schema={"$defs": {"Unit": UNIT}}
    )

    await arguments_for(model, state(text, earlier), candidate)

    assert model.schema["properties"].get("unit") == (None if values is None else {"enum": values})
