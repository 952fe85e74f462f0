"""A run of the agent, over real calls: what it does, in which order, and that it answers."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import ToolFailedError, UnavailableError
from orchestrator.agent.scripted import FAST, VOLTAGE, Outcome, Routed, Run, routing
from orchestrator.bench import ask, kinds


async def test_decisions_come_before_what_they_run_and_outputs_after(agent: Routed) -> None:
    agent.shelf.finds = {FAST: [{"page": 3, "manual": "Guide", "text": "The port is 22."}]}

    run = await agent.run("Which port does ssh use?", FAST)

    assert kinds(run.events) == [
        *("decision", "tool_started", "tool_finished", "output"),
        *("decision", "text_delta", "output", "done"),
    ]
    [first, last] = run.decisions
    assert (first.iteration, first.router, first.choices[0].binding_id) == (1, "rules", FAST)
    assert json.loads(first.choices[0].inputs_json) == {"query": "Which port does ssh use?"}
    assert first.reason
    assert (last.iteration, last.choices[0].tool) == (2, "text_response")
    assert len({event.output.query_id for event in run.events if event.HasField("output")}) == 1


async def test_a_whole_answer_holds_the_same_decisions_and_outputs(agent: Routed) -> None:
    agent.shelf.finds = {FAST: [VOLTAGE]}

    events = await agent.bench.whole(ask(routing(FAST), "Which port does ssh use?"))

    assert [kind for kind in kinds(events) if kind in ("decision", "output", "done")] == [
        *("decision", "output") * 2,
        *("decision", "output", "done"),
    ]


async def test_a_greeting_is_answered_without_a_search(agent: Routed) -> None:
    for router in ("rules", "native", "label", ""):
        run = await agent.run("Hello!", router=router)

        assert run.path == ["text_response"]
        assert run.text == "Hello"
    assert not agent.shelf.ran
    assert not agent.model.decisions


async def test_a_model_that_calls_nothing_answers_at_once(agent: Routed) -> None:
    run = await agent.run("Which port does ssh use?", router="native")

    assert run.path == ["text_response"]
    assert not agent.shelf.ran


async def test_a_model_can_choose_to_answer_only_once_something_was_tried(agent: Routed) -> None:
    agent.model.decide = lambda _: [("text_response", {})]

    run = await agent.run("Which port does ssh use?", router="native")

    offered = [{each.name for each in asked.functions} for asked in agent.model.decisions]
    assert ["text_response" in names for names in offered] == [False, True]
    assert "not available" in run.decisions[0].rejected
    assert run.path[-1] == "text_response"


@pytest.mark.parametrize(
    ("calls", "complaint"),
    [
        ([("web_search", {"query": "x"})], "'web_search' is not available now"),
        ([(FAST, {})], "break the rule 'required'"),
        ([(FAST, {"query": 7})], "break the rule 'type' at query"),
        ([(FAST, '{"query": ')], "no JSON object"),
        ([(FAST, "[]")], "no JSON object"),
    ],
)
async def test_what_a_model_may_not_choose_is_never_run_and_the_rules_decide(
    agent: Routed, calls: Any, complaint: str
) -> None:
    agent.shelf.finds = {FAST: [{"text": "The port of ssh is 22"}]}
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []

    run = await agent.run("Which port does ssh use?", FAST, router="native")

    assert complaint in run.decisions[0].rejected
    assert run.decisions[0].router == "rules"
    assert agent.shelf.ran == [(FAST, {"query": "Which port does ssh use?"})]


async def test_the_rules_decide_where_the_model_fails(agent: Routed) -> None:
    agent.model.undecided = UnavailableError("The provider is down.")
    agent.shelf.finds = {FAST: [{"text": "The port of ssh is 22"}]}

    run = await agent.run("Which port does ssh use?", FAST, router="native")

    assert run.path == [FAST, "text_response"]
    assert run.decisions[0].rejected == "The provider is down."
    assert run.text == "Hello"


async def test_independent_tools_run_at_once(agent: Routed) -> None:
    calls = [(FAST, {"query": "a"}), ("hybrid_search", {"query": "b"})]
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []
    agent.shelf.finds = {FAST: [{"text": "a"}], "hybrid_search": [{"text": "b"}]}

    run = await agent.run("Compare a and b, please", router="native")

    assert run.path == [f"{FAST}+hybrid_search", "text_response"]
    assert len(agent.shelf.seen) == 1
    assert len(run.outputs("result")) == 2


async def test_the_next_decision_reads_what_was_found_and_said(agent: Routed) -> None:
    agent.shelf.finds = {FAST: [{"text": "y" * 900 + "THE END"}]}
    calls = [(FAST, {"query": "a"})]
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []

    await agent.run("Which port does ssh use?", router="native")

    task = agent.model.decisions[1].messages[0].parts[0].text
    assert "THE END" in task
    assert f"{FAST} says: Found 1." in task


async def test_an_error_is_seen_by_the_next_decision_and_cleared_by_a_success(
    agent: Routed,
) -> None:
    details = {"recoverable": True, "suggestion": "Ask again"}
    broken = ToolFailedError("It broke.", details_json=json.dumps(details))
    agent.shelf.outcome = lambda *_: broken if len(agent.shelf.ran) == 1 else [{"text": "fine"}]
    calls = [[(FAST, {"query": "a"})], [(FAST, {"query": "b"})]]
    agent.model.decide = lambda _: dict(enumerate(calls)).get(len(agent.model.decisions) - 1, [])

    run = await agent.run("Which port does ssh use?", router="native")

    told = [asked.messages[0].parts[0].text for asked in agent.model.decisions]
    assert ["It broke. Ask again." in text for text in told] == [False, True, False]
    assert run.outputs("error") == [{"tool": FAST, "message": "It broke.", **details}]
    assert [len(tree.environment.errors) for tree in agent.shelf.trees] == [0, 1, 0]
    assert agent.shelf.trees[1].environment.errors[0].suggestion == "Ask again"


async def test_the_answer_is_made_of_what_was_found_and_names_its_sources_once(
    agent: Routed,
) -> None:
    agent.shelf.finds = {
        FAST: [
            {"page": 12, "manual": "S-130", "text": "The voltage is 24 V."},
            {"page": 12, "manual": "S-130", "text": "Never more than 30 V."},
            {"page": 3, "title": "Safety", "text": "Mind the voltage."},
        ]
    }

    run = await agent.run("What is the voltage?", FAST)

    prompt = agent.model.seen[-1].messages[-1].parts[0].text
    assert "[1] (S-130, page 12) The voltage is 24 V." in prompt
    assert prompt.endswith("What is the voltage?")
    assert run.response == {
        "text": "Hello",
        "sources": [{"page": 12, "manual": "S-130"}, {"page": 3, "manual": "Safety"}],
    }


async def test_sources_can_be_left_out(agent: Routed) -> None:
    agent.shelf.finds = {FAST: [VOLTAGE]}
    first, last = [(FAST, {"query": "a"})], [("text_response", {"include_sources": False})]
    agent.model.decide = lambda _: first if len(agent.model.decisions) == 1 else last

    run = await agent.run("What is the voltage?", FAST, router="native")

    assert run.response["sources"] == []


async def test_a_triggered_tool_runs_before_any_decision_and_once_for_a_cause(
    agent: Routed,
) -> None:
    triggers = {
        "a": tool_pb2.Trigger(inputs_json='{"query": "of a"}', cause="big"),
        "b": tool_pb2.Trigger(inputs_json='{"query": "of b"}', cause="big"),
    }
    agent.shelf.trigger = lambda tool, _: triggers.get(tool)
    agent.shelf.finds = {"a": [{"text": "1"}], "b": [{"text": "2"}], "c": [{"text": "3"}]}
    calls = [("c", {"query": "x"})]
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []

    run = await agent.run("Which port?", "a", "b", "c", router="native")

    assert run.path == ["a+b", "c", "text_response"]
    assert agent.shelf.ran[:2] == [("a", {"query": "of a"}), ("b", {"query": "of b"})]
    assert run.decisions[0].router == "trigger"


async def test_an_end_tool_of_the_assistant_ends_the_run_with_its_text(agent: Routed) -> None:
    agent.shelf.ends = ["form_letter"]
    agent.shelf.finds = {"form_letter": [{"text": "Dear all"}]}

    run = await agent.run("Write the form letter", "form_letter")

    assert run.path == ["form_letter"]
    assert "Dear all" in run.text
    assert run.response["text"] == run.text
    assert not agent.model.seen


async def test_a_tool_that_cannot_be_asked_is_told_and_the_others_go_on(agent: Routed) -> None:
    agent.shelf.deaf = [FAST]
    agent.shelf.finds = {"hybrid_search": [{"text": "The voltage is 3 V"}]}

    run = await agent.run("What is the voltage?", FAST, "hybrid_search")

    assert run.path == ["hybrid_search", "text_response"]
    assert [each["message"] for each in run.outputs("error")] == ["It is deaf."]


async def test_a_tool_that_can_be_asked_again_has_failed_no_longer(agent: Routed) -> None:
    class Recovering(list[str]):
        """Deaf tools that hear from the second question on."""

        def __contains__(self, tool: object) -> bool:
            return tool == FAST and len(agent.shelf.trees) == 1

    agent.shelf.deaf = Recovering()
    agent.shelf.finds = {
        "hybrid_search": [{"text": "something else"}],
        FAST: [{"text": "The voltage is 3 V"}],
    }

    run = await agent.run("What is the voltage?", FAST, "hybrid_search")

    assert run.path[0] == "hybrid_search"
    assert [len(tree.environment.errors) for tree in agent.shelf.trees] == [0, 1, 0]
    assert "deaf" not in agent.model.seen[-1].messages[-1].parts[0].text


async def test_without_any_tool_the_model_answers(agent: Routed) -> None:
    for router in ("rules", "native", "label"):
        asked = ask(routing(router=router), "What is the voltage?")
        run = Run(await agent.bench.events(asked))

        assert run.path == ["text_response"]
        assert run.text == "Hello"


async def test_runs_at_the_same_time_never_see_each_others_environment(agent: Routed) -> None:
    async def outcome_of(number: int) -> Run:
        return await agent.run(f"What is the voltage of machine M{number}?")

    def found(tool: str, _: Mapping[str, Any], context: tool_pb2.RunContext) -> Outcome:
        return [{"manual": context.tree.user_prompt, "text": f"{tool} found something"}]

    agent.shelf.outcome = found
    runs = await asyncio.gather(*map(outcome_of, range(50)))

    for number, run in enumerate(runs):
        asked = f"What is the voltage of machine M{number}?"
        assert {each["manual"] for each in run.response["sources"]} == {asked}
    assert len(agent.shelf.trees) >= 100
    for tree in agent.shelf.trees:
        manuals = {json.loads(o)["manual"] for f in tree.environment.found for o in f.objects_json}
        assert manuals <= {tree.user_prompt}


async def test_tools_that_fill_slots_and_those_that_are_called_work_beside_the_agent(
    agent: Routed,
) -> None:
    agent.shelf.finds = {FAST: [{"text": "The voltage is 3 V"}]}
    run = await agent.run("What is the voltage?", FAST, include_trace=True)

    [trace] = [event.trace for event in run.events if event.HasField("trace")]
    assert [step.name for step in trace.steps] == [FAST, "model"]
    assert kinds(run.events)[-2:] == ["trace", "done"]
