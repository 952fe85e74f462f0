"""Who decides, and how those that read probabilities and schemas do."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.connector.v1 import connector_pb2
from heddle_orchestrator.agent.decision import Answer, Candidate, Question
from heddle_orchestrator.agent.routers.dspy import DspyRouter, predictor
from heddle_orchestrator.agent.routers.registry import Routers
from heddle_orchestrator.agent.routers.tool_labels import demonstrations, label_logprobs, labels_of
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.validation.faults import missing_packages
from orchestrator.agent.scripted_services import Agent, Model, routed
from orchestrator.harness import done, text

EXAMPLES = {
    "weather": [("Is it cold in Oslo?", {"city": "Oslo"})],
    "library": [("Books on sailing", {"query": "sailing"})],
}
SCHEMAS = {
    "weather": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
        "required": ["city"],
    }
}


class Small(Model):
    """A model that tells probabilities and fills in what it is told to."""

    likes: Mapping[str, float] = {}
    """Of labels, whatever is asked."""
    fits: Mapping[str, float] = {}
    """Of labels, for a real request."""
    inputs: str = '{"city": "Bergen"}'
    silent: bool = False

    def _answer(
        self, request: connector_pb2.GenerateMessageRequest
    ) -> Sequence[Sequence[connector_pb2.GenerationEvent]]:
        extra = json.loads(request.options.extra_json or "{}")
        if "response_format" in extra:
            return [[text(self.inputs), done()]]
        if "logprobs" not in extra or self.silent:
            return [[text("Hello"), done()]]
        real = request.messages[-1].parts[0].text.startswith("Do I")
        probabilities = {
            word: self.likes.get(word, 0.1) * (self.fits.get(word, 1.0) if real else 1.0)
            for word in ("weather", "library", "calendar")
        }
        top = [{"token": f" {word}", "logprob": math.log(p)} for word, p in probabilities.items()]
        logprobs = json.dumps({"content": [{"top_logprobs": top}]})
        return [[text("x"), connector_pb2.GenerationEvent(logprobs_json=logprobs), done()]]


@pytest.fixture
async def small() -> Any:
    model = Small()  # type: ignore[abstract] # it answers only what an orchestrator asks
    async with routed(model=model) as running:
        running.tools.examples, running.tools.schemas = EXAMPLES, SCHEMAS
        running.tools.finds = {"weather": [{"text": "rain"}], "library": [{"text": "a book"}]}
        yield running


PROMPT = "Do I need an umbrella in Bergen?"


async def test_the_word_that_fits_best_beyond_what_is_liked_anyway_decides(
    small: Agent,
) -> None:
    model = small.model
    assert isinstance(model, Small)
    model.likes = {"library": 0.6, "weather": 0.01}
    model.fits = {"weather": 9.0}

    run = await small.run(PROMPT, "library", "weather", "calendar", router="label")

    assert run.path == ["weather", "text_response"]
    assert run.decisions[0].router == "label"
    assert small.tools.ran == [("weather", {"city": "Bergen"})]


@pytest.mark.parametrize(
    ("near", "path", "questions"),
    [
        ({"library": 0.7, "weather": 0.6}, "library", 0),
        ({"library": 0.609, "weather": 0.6}, "weather", 5),
        ({"library": 0.7}, "weather", 5),
    ],
)
async def test_the_nearest_tool_is_chosen_and_the_model_asked_only_where_two_are_close(
    small: Agent, near: Mapping[str, float], path: str, questions: int
) -> None:
    model = small.model
    assert isinstance(model, Small)
    model.fits, model.inputs = {"weather": 9.0}, '{"city": "Bergen", "query": "umbrella"}'
    small.tools.near = near

    run = await small.run(PROMPT, "library", "weather", router="label")

    assert run.path == [path, "text_response"]
    assert sum("logprobs" in each.options.extra_json for each in model.seen) == questions


async def test_tools_are_compared_when_a_run_begins_and_for_the_decider_that_wants_it(
    small: Agent,
) -> None:
    await small.run(PROMPT, "library", "weather", router="label")
    by_label = list(small.tools.compared)
    await small.run(PROMPT, "library", "weather", router="rules")

    assert by_label[0]
    assert not any(by_label[1:] + small.tools.compared[len(by_label) :])


async def test_tools_are_not_compared_with_a_greeting(small: Agent) -> None:
    await small.run("hello", "library", "weather", router="label")

    assert not any(small.tools.compared)


async def test_inputs_are_asked_for_under_the_schema_of_the_chosen_tool(
    small: Agent,
) -> None:
    model = small.model
    assert isinstance(model, Small)
    model.fits = {"weather": 9.0}

    await small.run(PROMPT, "library", "weather", router="label")

    questions = [json.loads(each.options.extra_json or "{}") for each in model.seen]
    [response_format] = [each["response_format"] for each in questions if "response_format" in each]
    schema = response_format["json_schema"]["schema"]
    assert list(schema["properties"]) == ["city"]  # nobody showed a unit: it keeps its default
    turns = next(
        e for e, extra in zip(model.seen, questions, strict=True) if "response_format" in extra
    )
    assert [turn.parts[0].text for turn in turns.messages[1:3]] == [
        "Is it cold in Oslo?",
        '{"city": "Oslo"}',
    ]


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ("{}", "writes no arguments"),
        ("nonsense", "no arguments"),
        ('{"city": 7}', "'type' at city"),
    ],
)
async def test_inputs_that_do_not_fit_are_the_rules_business(
    small: Agent, inputs: str, why: str
) -> None:
    model = small.model
    assert isinstance(model, Small)
    model.fits, model.inputs = {"weather": 9.0}, inputs

    run = await small.run(PROMPT, "library", "weather", router="label")

    assert why in run.decisions[0].rejected
    assert run.decisions[0].router == "rules"
    assert run.path[-1] == "text_response"


async def test_without_probabilities_the_rules_decide(small: Agent) -> None:
    model = small.model
    assert isinstance(model, Small)
    model.silent = True

    run = await small.run(PROMPT, "library", "weather", router="label")

    assert run.decisions[0].rejected == "The provider returns no log-probabilities."


async def test_what_is_liked_anyway_is_asked_once_for_the_same_tools(small: Agent) -> None:
    for _ in range(3):
        await small.run(PROMPT, "library", "weather", router="label")

    probes = [each for each in small.model.seen if "logprobs" in each.options.extra_json]
    assert len(probes) == 4 + 3


async def test_dspy_that_is_not_installed_is_said_and_the_rules_decide(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heddle_orchestrator.agent.routers.dspy._PACKAGE", "no_such_package")

    run = await agent.run("Which port?", router="dspy")

    assert "install heddle-orchestrator[dspy]" in run.decisions[0].rejected
    assert run.path[-1] == "text_response"


def test_dspy_is_warned_about_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assistant = assistant_pb2.Assistant(strategy="agent_dspy")
    assert list(missing_packages(assistant)) == []

    monkeypatch.setattr("heddle_orchestrator.agent.routers.dspy._PACKAGE", "no_such_package")

    [warning] = missing_packages(assistant)
    assert warning.field == "assistant.strategy"
    assert "install heddle-orchestrator[dspy]" in warning.description
    assert list(missing_packages(assistant_pb2.Assistant(strategy="agent"))) == []


def test_the_connector_tells_who_decides_where_the_assistant_does_not() -> None:
    routers = Routers(None)

    assert routers.get("", "openai").name == "native"
    assert routers.get("", "local").name == "label"
    assert [routers.get(n, "openai").name for n in ("rules", "label", "dspy")] == [
        "rules",
        "label",
        "dspy",
    ]


def candidate(name: str, description: str, *examples: str) -> Candidate:
    return Candidate(name, description, {}, [(each, "{}") for each in examples])


def test_labels_are_words_that_people_say_and_no_two_begin_alike() -> None:
    tools = [
        candidate("get_weather", "Tells the weather of a city.", "How is the weather?"),
        candidate("colqwen_search", "Finds pages by their figures.", "Show the figure"),
        candidate("find_book", "Finds a book.", "A book on sails"),
        candidate("read_book", "Reads a book aloud.", "Read me the book"),
    ]

    labels = labels_of(tools)

    assert labels["get_weather"] == "weather"
    assert labels["colqwen_search"] == "figures"
    assert len({label[:3] for label in labels.values()}) == len(tools)


def test_a_tool_without_examples_is_shown_by_what_it_does() -> None:
    tools = [candidate("clock", "Tells the time."), candidate("mail", "Sends.", "Write to Eva")]

    assert demonstrations(tools, labels_of(tools)) == [
        ("Tells the time.", "clock"),
        ("Write to Eva", "mail"),
    ]


def test_tokens_count_for_the_one_label_that_they_begin() -> None:
    top = [("Cl", 0.4), (" clock", 0.2), ("m", 0.1), ("c", 0.1), ("", 0.1)]
    probabilities = [{"token": token, "logprob": math.log(p)} for token, p in top]
    logprobs = label_logprobs(
        json.dumps({"content": [{"top_logprobs": probabilities}]}), {"a": "clock", "b": "calendar"}
    )

    assert logprobs is not None
    assert logprobs["a"] == pytest.approx(math.log(0.6))
    assert logprobs["b"] < -10
    assert label_logprobs("", {"a": "clock"}) is None


async def test_a_compiled_program_is_loaded_with_what_it_learned_of_the_tools_that_are_there(
    tmp_path: Path,
) -> None:
    dspy = import_module("dspy")
    program = predictor(dspy, ["clock", "mail"])
    program.demos = [
        dspy.Example(so_far="nothing yet", request=request, tool=tool)
        for request, tool in (("LEARNED", "mail"), ("FORGOTTEN", "gone"))
    ]
    program.signature = program.signature.with_instructions("OPTIMISED")
    program.save(str(tmp_path / "program.json"))
    questions: list[Question] = []

    async def answers(question: Question) -> Answer:
        questions.append(question)
        return Answer("[[ ## tool ## ]]\nmail\n\n[[ ## completed ## ]]")

    bound = BoundTool("1", assistant_pb2.ToolBinding(), 1.0)
    tools = [
        replace(candidate("clock", "Tells the time."), bound=bound),
        replace(candidate("mail", "Sends."), bound=bound),
    ]
    state = State("Write to Eva", "Write to Eva")

    decision = await DspyRouter(tmp_path / "program.json").decide(answers, state, tools)

    assert [choice.tool for choice in decision.choices] == ["mail"]
    prompt = "\n".join(turn.parts[0].text for turn in questions[0].messages)
    assert all(word in prompt for word in ("OPTIMISED", "LEARNED", "clock: Tells the time."))
    assert "FORGOTTEN" not in prompt
