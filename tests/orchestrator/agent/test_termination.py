"""Whatever tools do and a model decides, a run ends in exactly one response, within its budget."""

import os
from collections.abc import Sequence
from typing import Any

from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.agent.decision import MAX_PARALLEL_CHOICES
from heddle_runtime.errors import DeadlineError, HeddleError, ToolFailedError, UnavailableError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from orchestrator.agent.scripted_services import Outcome, Run, routing
from orchestrator.harness import ask

TOOLS = (
    *("fast_vector_search", "hybrid_search", "colqwen_search", "visual_interpretation"),
    *("web_search", "library", "form_letter"),
)
NAMES = st.sampled_from([*TOOLS, "summarize", "text_response", "nobody"])
OBJECT = st.fixed_dictionaries(
    {"text": st.sampled_from(["", "voltage", "24 V", "z" * 50_000])},
    optional={"page": st.integers(0, 3), "manual": st.sampled_from(["", "Guide"])},
)
FAILURES: Sequence[HeddleError] = (
    UnavailableError("down"),
    ToolFailedError("no"),
    DeadlineError("late"),
)
OUTCOME = st.one_of(st.lists(OBJECT, max_size=4), st.sampled_from(FAILURES))
INPUTS = st.one_of(
    st.fixed_dictionaries({"query": st.sampled_from(["a", "voltage", "a b", ""])}),
    st.sampled_from(["{", "[]", '{"query": 1}', "{}", '{"max_length": 5}']),
)
CALLS = st.one_of(st.lists(st.tuples(NAMES, INPUTS), max_size=6), st.none())
PROMPTS = st.sampled_from(
    ["Hello", "", "What is the voltage?", "Show the diagram", "Which menu?", "Why so?", "¿?"]
)
RUNS = int(os.environ.get("HEDDLE_AGENT_RUNS", "60"))


@settings(
    max_examples=RUNS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_every_run_ends_in_exactly_one_response(data: st.DataObject, runner: Any) -> None:
    runner.run(_one(data, runner.routed))


async def _one(data: st.DataObject, agent: Any) -> None:
    rounds = data.draw(st.integers(1, 6), "rounds")
    router = data.draw(st.sampled_from(["rules", "native", "label", ""]), "router")
    prompt = data.draw(PROMPTS, "prompt")
    tools = data.draw(st.lists(st.sampled_from(TOOLS), unique=True), "tools")
    outcomes = data.draw(st.lists(OUTCOME, min_size=1, max_size=8), "outcomes")
    turns = data.draw(st.lists(CALLS, max_size=8), "turns")
    missing = data.draw(st.sets(st.sampled_from(TOOLS), max_size=3), "missing")
    trigger = data.draw(st.sampled_from([None, *tools]), "trigger")
    cause = data.draw(st.sampled_from(["", "always", "each time"]), "cause")
    server, model = agent.tools, agent.model
    server.ran.clear()
    server.trees.clear()
    model.decisions.clear()

    def outcome(*_: object) -> Outcome:
        return outcomes[(len(server.ran) - 1) % len(outcomes)]

    def decide(_: object) -> Any:
        number = len(model.decisions) - 1
        turn = turns[number] if number < len(turns) else []
        if turn is None:
            raise UnavailableError("The provider is down.")
        return turn

    def fired(tool: str, _: tool_pb2.TreeData) -> tool_pb2.Trigger | None:
        why = f"{len(server.trees)}" if cause == "each time" else cause
        inputs = '{"query": "triggered"}'
        return tool_pb2.Trigger(inputs_json=inputs, cause=why) if tool == trigger else None

    server.outcome, model.decide, server.trigger = outcome, decide, fired
    server.ends = ["form_letter"]
    server.deaf = sorted(missing)
    request = ask(routing(*tools, router=router, rounds=rounds), prompt)

    run = Run(await agent.harness.events(request))

    assert len(run.outputs("response")) == 1
    assert [event.HasField("done") for event in run.events].count(True) == 1
    assert run.events[-1].HasField("done")
    assert run.text == run.response["text"] != ""
    assert len(run.decisions) <= rounds + 1
    assert len(server.ran) <= rounds * max(MAX_PARALLEL_CHOICES, 1)
    assert len([event for event in run.events if event.HasField("output")]) <= 1 + 5 * rounds + 7
    assert not {name for name, _ in server.ran} & missing
