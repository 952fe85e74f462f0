"""Runs of the agent in which something is broken, huge or has the name of something else."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from heddle.connector.v1 import connector_pb2
from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.agent.repeat_detection import repetition
from heddle_orchestrator.agent.state import PastRun, State
from heddle_runtime.errors import ToolFailedError, UnavailableError
from orchestrator.agent.scripted_services import FAST, Agent, Model, Run, routed, routing
from orchestrator.harness import ask, assistant

LOOK = "visual_interpretation"
PAGES = "/v1/vector_stores/vs_1/files/doc_1/pages/"


class Tired(Model):
    """A model that cannot summarize."""

    def _answer(
        self, request: connector_pb2.GenerateMessageRequest
    ) -> Sequence[Sequence[connector_pb2.GenerationEvent]]:
        if "Summarize the passages" in request.messages[0].parts[0].text:
            raise UnavailableError("The model is tired.")
        return super()._answer(request)


def once(*calls: tuple[str, Any]) -> Any:
    """Return a model that calls these, one after the other."""
    left = list(calls)
    return lambda _: [left.pop(0)] if left else []


async def test_what_no_model_can_summarize_is_cut_and_the_run_answers() -> None:
    async with routed(Tired()) as agent:  # type: ignore[abstract] # it answers only what an orchestrator asks
        agent.tools.finds = {FAST: [{"manual": "Big", "page": 2, "text": "z" * 130_000}]}

        run = await agent.run("What is the voltage?", FAST)

    assert run.path == [FAST, "summarize", "text_response"]
    assert run.text == "Hello"
    assert run.response["sources"] == [{"page": 2, "manual": "Big"}]


async def test_a_run_whose_tools_cannot_be_assessed_answers_and_shows_an_error_for_each(
    agent: Agent,
) -> None:
    def failing_check(*_: object) -> str:
        raise ToolFailedError("The check failed.")

    agent.tools.hindrance = failing_check

    run = await agent.run("What is the voltage?", FAST, FAST, "hybrid_search")

    assert run.path == ["text_response"]
    assert run.text == "Hello"
    assert [(each["tool"], each["message"]) for each in run.outputs("error")] == [
        (tool, "The check failed.") for tool in (FAST, FAST, "hybrid_search")
    ]


async def test_half_a_character_in_a_models_inputs_does_not_end_the_run(
    agent: Agent,
) -> None:
    agent.tools.finds = {FAST: [{"text": "a"}]}
    agent.model.decide = once((FAST, '{"query": "half \\ud83d"}'))

    run = await agent.run("Which port does ssh use?", FAST, router="native")

    assert agent.tools.ran[0] == (FAST, {"query": "half \ufffd"})
    assert run.text == "Hello"


async def test_what_a_tool_found_is_told_as_json_however_long_it_is(agent: Agent) -> None:
    agent.tools.finds = {
        FAST: [{"page": n, "text": f"voltage {n} " + "x" * 1_900} for n in range(40)]
    }

    run = await agent.run("What is the voltage?", FAST)

    [output] = run.outputs("result")
    assert [each["page"] for each in output["objects"]] == list(range(40))


async def test_what_a_tool_is_called_with_is_told_as_json_however_long_it_is(
    agent: Agent,
) -> None:
    agent.model.decide = once((FAST, {"query": "key sk-" + "a1" * 20 + " long" * 1_000}))

    run = await agent.run("Which port does ssh use?", FAST, router="native")

    query = json.loads(run.decisions[0].choices[0].inputs_json)["query"]
    assert query.startswith("key [redacted] long")
    assert query.endswith("…")
    assert len(query) < 1_100


async def test_the_sources_of_a_tool_that_ends_the_run_are_those_of_the_answer(
    agent: Agent,
) -> None:
    agent.tools.ends = ["form_letter"]
    agent.tools.finds = {"form_letter": [{"text": "Dear all", "sources": [{"manual": "Forms"}]}]}

    run = await agent.run("Write the form letter", "form_letter")

    assert run.response["sources"] == [{"page": None, "manual": "Forms"}]


async def test_a_tool_that_ends_the_run_does_so_wherever_it_ran(agent: Agent) -> None:
    trigger = tool_pb2.Trigger(inputs_json='{"query": "x"}', cause="now")
    agent.tools.trigger = lambda *_: trigger
    agent.tools.ends = ["form_letter"]
    agent.tools.finds = {"form_letter": [{"text": "Dear all"}], FAST: [{"text": "something"}]}

    run = await agent.run("Which port does ssh use?", "form_letter", FAST)

    assert run.path == [f"form_letter+{FAST}"]
    assert "Dear all" in run.text


async def test_tools_with_the_names_of_others_are_told_apart(agent: Agent) -> None:
    names = (FAST, FAST, f"{FAST}_2", "summarize", "text_response")
    agent.model.decide = lambda _: []

    await agent.run("Which port does ssh use?", *names, router="native")

    [request] = agent.model.decisions
    offered = [each.name for each in request.functions]
    assert len(offered) == len(set(offered)) == len(names)
    assert not {"summarize", "text_response"} & set(offered)


async def test_each_function_of_a_server_is_a_tool_of_its_own(agent: Agent) -> None:
    agent.tools.functions = {"mcp": ["lookup", "translate"], "other": ["lookup"]}
    agent.tools.outcome = lambda *_: [{"text": f"result {len(agent.tools.ran)}"}]
    same = {"query": "cloth"}
    agent.model.decide = once(("mcp__lookup", same), ("translate", same), ("translate", same))

    run = await agent.run("What does cloth mean?", "mcp", "other", router="native")

    declared = [each.name for each in agent.model.decisions[0].functions]
    assert declared == ["mcp__lookup", "translate", "other"]
    assert agent.tools.ran[:2] == [("lookup", same), ("translate", same)]
    assert [past.tool for past in agent.tools.trees[2].history] == ["lookup", "translate"]
    assert "translate was already run" in run.decisions[2].rejected


@pytest.mark.parametrize(
    ("earlier", "later", "same"),
    [
        ({"query": "voltage of the S-130"}, {"query": "S-130 voltage of the?"}, True),
        ({"query": "voltage", "limit": 3}, {"query": "Voltage", "limit": 5}, True),
        ({"query": "voltage"}, {"query": "voltage", "limit": 5, "title": ""}, True),
        ({"query": "voltage"}, {"query": "fuse"}, False),
        ({"account_id": 7}, {"account_id": 8}, False),
        ({"country": ["es"]}, {"country": ["fr"]}, False),
        (
            {"query": "a b c d e f g h i j", "in": "x"},
            {"query": "a b c d e f g h i j", "in": "y"},
            False,
        ),
        (
            {"image_path": f"{PAGES}3", "prompt": "What does it show?"},
            {"image_path": f"{PAGES}4", "prompt": "What does it show?"},
            False,
        ),
        ({}, {}, True),
    ],
)
def test_only_what_amounts_to_the_same_inputs_is_refused(
    earlier: dict[str, Any], later: dict[str, Any], same: bool
) -> None:
    state = State("x", "x", history=[PastRun(LOOK, earlier, 1, failed=False)])

    assert bool(repetition(state, LOOK, later)) is same
    assert not repetition(state, FAST, later)


async def test_the_trace_tells_the_state_in_which_the_run_ended(agent: Agent) -> None:
    agent.tools.outcome = lambda tool, *_: (
        UnavailableError("down, says ana@example.org")
        if tool == "hybrid_search"
        else [{"page": n, "text": "x" * 250, "password": "hunter2"} for n in range(300)]
    )
    calls = [(FAST, {"query": "to ana@example.org"}), ("hybrid_search", {"query": "b"})]
    agent.model.decide = lambda _: calls if len(agent.model.decisions) == 1 else []
    target = routing(FAST, "hybrid_search", router="native")
    target.verbose = True

    run = Run(await agent.harness.events(ask(target, "Which port? I am ana@example.org")))

    [trace] = [event.trace for event in run.events if event.HasField("trace")]
    tree = trace.tree
    assert tree.iterations == 1
    assert [(past.tool, past.failed) for past in tree.history] == [
        (FAST, False),
        ("hybrid_search", True),
    ]
    [finding] = tree.environment.findings
    first = json.loads(finding.objects_json[0])
    assert first == {"page": 0, "text": "x" * 199 + "…", "password": "[redacted]"}
    assert len(finding.objects_json) + tree.environment.left_out == 300
    assert tree.ByteSize() < 60_000
    assert "ana@example.org" not in str(trace)
    assert tree.environment.errors[0].message == "down, says [redacted]"


async def test_only_a_run_of_the_agent_has_such_a_state_in_its_trace(agent: Agent) -> None:
    request = ask(assistant(), "Hello")
    request.include_trace = True

    events = await agent.harness.events(request)

    [trace] = [event.trace for event in events if event.HasField("trace")]
    assert not trace.HasField("tree")
