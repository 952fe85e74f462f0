"""A run of the agent, over real calls: what it does, in which order, and that it answers."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import ToolFailedError, UnavailableError
from heddle_runtime.identity.call_metadata import new_call_options
from orchestrator.agent.scripted_services import FAST, VOLTAGE, Agent, Outcome, Run, routing
from orchestrator.harness import ask, done, kinds, text


async def test_decisions_come_before_what_they_run_and_outputs_after(agent: Agent) -> None:
    agent.tools.finds = {FAST: [{"page": 3, "manual": "Guide", "text": "The port is 22."}]}

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


async def test_a_whole_answer_holds_the_same_decisions_and_outputs(agent: Agent) -> None:
    agent.tools.finds = {FAST: [VOLTAGE]}

    events = await agent.harness.whole(ask(routing(FAST), "Which port does ssh use?"))

    assert [kind for kind in kinds(events) if kind in ("decision", "output", "done")] == [
        *("decision", "output") * 2,
        *("decision", "output", "done"),
    ]


async def test_a_greeting_is_answered_without_a_search(agent: Agent) -> None:
    for router in ("rules", "native", "label", ""):
        run = await agent.run("Hello!", router=router)

        assert run.path == ["text_response"]
        assert run.text == "Hello"
    assert not agent.tools.ran
    assert not agent.model.decisions


async def test_a_model_that_calls_nothing_answers_at_once(agent: Agent) -> None:
    run = await agent.run("Which port does ssh use?", router="native")

    assert run.path == ["text_response"]
    assert not agent.tools.ran


async def test_a_model_can_choose_to_answer_only_once_something_was_tried(
    agent: Agent,
) -> None:
    agent.model.decide = lambda _: [("text_response", {})]

    run = await agent.run("Which port does ssh use?", router="native")

    offered = [{f.name for f in each.functions} for each in agent.model.decisions]
    assert ["text_response" in names for names in offered] == [False, True]
    assert "not available" in run.decisions[0].rejected
    assert run.path[-1] == "text_response"


async def test_a_tool_that_is_not_available_is_not_offered_to_the_model(agent: Agent) -> None:
    agent.tools.hindrance = lambda tool, _: "" if tool == FAST else "No page is open."

    await agent.run("Which port does ssh use?", FAST, "visual_interpretation", router="native")

    [request] = agent.model.decisions
    assert [each.name for each in request.functions] == [FAST]


async def test_the_answer_is_streamed_as_the_model_writes_it(agent: Agent) -> None:
    agent.model.batches = [[text("Hel")], [text("lo")], [done()]]
    agent.model.going_on = asyncio.Event()
    stub = pb_grpc.OrchestratorServiceStub(agent.harness.orchestrator)
    run = aiter(stub.RunCompletion(ask(routing(FAST), "Hello!"), **new_call_options(10)))

    first = [list((await anext(run)).events) for _ in range(2)]
    assert [kinds(batch) for batch in first] == [["decision"], ["text_delta"]]
    assert first[1][0].text_delta == "Hel"
    agent.model.going_on.set()
    rest = [list(response.events) async for response in run]
    assert [kinds(batch) for batch in rest] == [["text_delta"], ["output", "done"]]
    assert rest[0][0].text_delta == "lo"


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
    agent: Agent, calls: Any, complaint: str
) -> None:
    agent.tools.finds = {FAST: [{"text": "The port of ssh is 22"}]}
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []

    run = await agent.run("Which port does ssh use?", FAST, router="native")

    assert complaint in run.decisions[0].rejected
    assert run.decisions[0].router == "rules"
    assert agent.tools.ran == [(FAST, {"query": "Which port does ssh use?"})]


async def test_the_rules_decide_where_the_model_fails(agent: Agent) -> None:
    agent.model.undecided = UnavailableError("The provider is down.")
    agent.tools.finds = {FAST: [{"text": "The port of ssh is 22"}]}

    run = await agent.run("Which port does ssh use?", FAST, router="native")

    assert run.path == [FAST, "text_response"]
    assert run.decisions[0].rejected == "The provider is down."
    assert run.text == "Hello"


async def test_independent_tools_run_at_once(agent: Agent) -> None:
    calls = [(FAST, {"query": "a"}), ("hybrid_search", {"query": "b"})]
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []
    agent.tools.finds = {FAST: [{"text": "a"}], "hybrid_search": [{"text": "b"}]}

    run = await agent.run("Compare a and b, please", router="native")

    assert run.path == [f"{FAST}+hybrid_search", "text_response"]
    assert len(agent.tools.seen) == 1
    assert len(run.outputs("result")) == 2


async def test_the_next_decision_reads_what_was_found_and_said(agent: Agent) -> None:
    agent.tools.finds = {FAST: [{"text": "y" * 900 + "THE END"}]}
    calls = [(FAST, {"query": "a"})]
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []

    await agent.run("Which port does ssh use?", router="native")

    task = agent.model.decisions[1].messages[0].parts[0].text
    assert "THE END" in task
    assert f"{FAST} says: Found 1." in task


async def test_an_error_is_seen_by_the_next_decision_and_cleared_by_a_success(
    agent: Agent,
) -> None:
    details = {"recoverable": True, "suggestion": "Ask again"}
    broken = ToolFailedError("It broke.", details_json=json.dumps(details))
    agent.tools.outcome = lambda *_: broken if len(agent.tools.ran) == 1 else [{"text": "fine"}]
    calls = [[(FAST, {"query": "a"})], [(FAST, {"query": "b"})]]
    agent.model.decide = lambda _: dict(enumerate(calls)).get(len(agent.model.decisions) - 1, [])

    run = await agent.run("Which port does ssh use?", router="native")

    tasks = [each.messages[0].parts[0].text for each in agent.model.decisions]
    assert ["It broke. Ask again." in text for text in tasks] == [False, True, False]
    assert run.outputs("error") == [{"tool": FAST, "message": "It broke.", **details}]
    assert [len(tree.environment.errors) for tree in agent.tools.trees] == [0, 1, 0]
    assert agent.tools.trees[1].environment.errors[0].suggestion == "Ask again"


async def test_the_answer_is_made_of_what_was_found_and_names_its_sources_once(
    agent: Agent,
) -> None:
    agent.tools.finds = {
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


async def test_sources_can_be_left_out(agent: Agent) -> None:
    agent.tools.finds = {FAST: [VOLTAGE]}
    first, last = [(FAST, {"query": "a"})], [("text_response", {"include_sources": False})]
    agent.model.decide = lambda _: first if len(agent.model.decisions) == 1 else last

    run = await agent.run("What is the voltage?", FAST, router="native")

    assert run.response["sources"] == []


async def test_a_triggered_tool_runs_before_any_decision_and_once_for_a_cause(
    agent: Agent,
) -> None:
    triggers = {
        "a": tool_pb2.Trigger(inputs_json='{"query": "of a"}', cause="big"),
        "b": tool_pb2.Trigger(inputs_json='{"query": "of b"}', cause="big"),
    }
    agent.tools.trigger = lambda tool, _: triggers.get(tool)
    agent.tools.finds = {"a": [{"text": "1"}], "b": [{"text": "2"}], "c": [{"text": "3"}]}
    calls = [("c", {"query": "x"})]
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []

    run = await agent.run("Which port?", "a", "b", "c", router="native")

    assert run.path == ["a+b", "c", "text_response"]
    assert agent.tools.ran[:2] == [("a", {"query": "of a"}), ("b", {"query": "of b"})]
    assert run.decisions[0].router == "trigger"


async def test_an_end_tool_of_the_assistant_ends_the_run_with_its_text(agent: Agent) -> None:
    agent.tools.ends = ["form_letter"]
    agent.tools.finds = {"form_letter": [{"text": "Dear all"}]}

    run = await agent.run("Write the form letter", "form_letter")

    assert run.path == ["form_letter"]
    assert "Dear all" in run.text
    assert run.response["text"] == run.text
    assert not agent.model.seen


async def test_a_tool_that_cannot_be_asked_is_told_and_the_others_go_on(
    agent: Agent,
) -> None:
    agent.tools.deaf = [FAST]
    agent.tools.finds = {"hybrid_search": [{"text": "The voltage is 3 V"}]}

    run = await agent.run("What is the voltage?", FAST, "hybrid_search")

    assert run.path == ["hybrid_search", "text_response"]
    assert [each["message"] for each in run.outputs("error")] == ["It is deaf."]


async def test_a_tool_that_can_be_asked_again_has_failed_no_longer(agent: Agent) -> None:
    class Recovering(list[str]):
        """Deaf tools that hear from the second question on."""

        def __contains__(self, tool: object) -> bool:
            return tool == FAST and len(agent.tools.trees) == 1

    agent.tools.deaf = Recovering()
    agent.tools.finds = {
        "hybrid_search": [{"text": "something else"}],
        FAST: [{"text": "The voltage is 3 V"}],
    }

    run = await agent.run("What is the voltage?", FAST, "hybrid_search")

    assert run.path[0] == "hybrid_search"
    assert [len(tree.environment.errors) for tree in agent.tools.trees] == [0, 1, 0]
    assert "deaf" not in agent.model.seen[-1].messages[-1].parts[0].text


async def test_without_any_tool_the_model_answers(agent: Agent) -> None:
    for router in ("rules", "native", "label"):
        request = ask(routing(router=router), "What is the voltage?")
        run = Run(await agent.harness.events(request))

        assert run.path == ["text_response"]
        assert run.text == "Hello"


async def test_runs_at_the_same_time_never_see_each_others_environment(agent: Agent) -> None:
    async def outcome_of(number: int) -> Run:
        return await agent.run(f"What is the voltage of machine M{number}?")

    def outcome(tool: str, _: Mapping[str, Any], context: tool_pb2.RunContext) -> Outcome:
        return [{"manual": context.tree.user_prompt, "text": f"{tool} found something"}]

    agent.tools.outcome = outcome
    runs = await asyncio.gather(*map(outcome_of, range(50)))

    for number, run in enumerate(runs):
        question = f"What is the voltage of machine M{number}?"
        assert {each["manual"] for each in run.response["sources"]} == {question}
    assert len(agent.tools.trees) >= 100
    for tree in agent.tools.trees:
        manuals = {
            json.loads(o)["manual"] for f in tree.environment.findings for o in f.objects_json
        }
        assert manuals <= {tree.user_prompt}


async def test_tools_that_fill_slots_and_those_that_are_called_work_beside_the_agent(
    agent: Agent,
) -> None:
    agent.tools.finds = {FAST: [{"text": "The voltage is 3 V"}]}
    run = await agent.run("What is the voltage?", FAST, include_trace=True)

    [trace] = [event.trace for event in run.events if event.HasField("trace")]
    kinds_of_steps = [(step.name, step.kind) for step in trace.steps]
    assert kinds_of_steps[0] == (FAST, pb.Trace.STEP_KIND_TOOL)
    decisions = [step for step in trace.steps if step.kind == pb.Trace.STEP_KIND_DECISION]
    assert len(decisions) == len([each for each in run.events if each.HasField("decision")])
    assert kinds_of_steps[-1] == ("model", pb.Trace.STEP_KIND_MODEL)
    assert kinds(run.events)[-2:] == ["trace", "done"]


async def test_a_trace_tells_which_tool_of_the_agent_brought_each_passage(agent: Agent) -> None:
    passages = [{"manual": "M", "page": n, "text": f"The voltage is {n} V."} for n in (1, 2)]
    agent.tools.finds = {FAST: passages}
    run = await agent.run(
        "What is the voltage?", FAST, include_trace=True, include_trace_texts=True
    )

    [trace] = [event.trace for event in run.events if event.HasField("trace")]
    brought = [slot for slot in trace.slots if slot.tool]
    assert len(brought) == len(passages)
    for number, slot in enumerate(brought, start=1):
        [place] = slot.ranges
        prompt = trace.prompt[place.message].parts[place.part]
        assert prompt[place.start : place.end] == slot.text
        assert slot.text.endswith(f"The voltage is {number} V.")
        assert trace.steps[slot.step].tool == FAST
    starts = {step.kind: step.start.ToNanoseconds() for step in trace.steps}
    assert starts[pb.Trace.STEP_KIND_TOOL] <= starts[pb.Trace.STEP_KIND_MODEL]
