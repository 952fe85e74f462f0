"""Where a run of the agent stops."""

import json
from typing import Any

import pytest
from heddle_runtime.errors import UnavailableError
from orchestrator.agent.scripted_services import FAST, VOLTAGE, Agent
from orchestrator.harness import done, text


def always(tool: str) -> Any:
    """Return a model that calls one tool, each time with other words."""
    counted = iter(range(1000))
    return lambda _: [
        (tool, {"query": f"question number {next(counted)} {chr(65 + next(counted))}"})
    ]


async def test_a_tool_that_always_finds_the_same_is_asked_three_times_at_most(
    agent: Agent,
) -> None:
    agent.tools.finds = {FAST: [VOLTAGE]}
    agent.model.decide = always(FAST)

    run = await agent.run("What is the voltage of the S-130?", router="native", rounds=50)

    searches = [path for path in run.path if path == FAST]
    assert 1 <= len(searches) <= 3
    assert run.path[-1] == "text_response"
    assert run.text == "Hello"
    assert "nothing new" in run.decisions[-1].reason


@pytest.mark.parametrize("router", ["rules", "native"])
async def test_the_same_question_is_not_asked_twice(agent: Agent, router: str) -> None:
    agent.tools.finds = {FAST: [VOLTAGE]}
    agent.model.decide = lambda _: [(FAST, {"query": "voltage of the S-130", "limit": 3})]
    agent.tools.schemas = {
        FAST: {"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}
    }

    run = await agent.run("What is the voltage of the S-130?", FAST, router=router, rounds=20)

    assert len({json.dumps(inputs) for _, inputs in agent.tools.ran}) == len(agent.tools.ran) <= 3
    assert run.path[-1] == "text_response"


async def test_ten_failures_in_a_row_end_the_search(agent: Agent) -> None:
    agent.tools.finds = {FAST: UnavailableError("down")}
    agent.model.decide = always(FAST)

    run = await agent.run("What is the voltage?", router="native", rounds=50)

    assert len(run.outputs("error")) == 10
    assert "10 calls in a row failed" in run.decisions[-1].reason
    assert "down" in agent.model.seen[-1].messages[-1].parts[0].text
    assert run.text == "Hello"


async def test_the_cap_on_decisions_ends_the_search(agent: Agent) -> None:
    agent.tools.outcome = lambda *_: [{"text": f"number {len(agent.tools.ran)}"}]
    agent.model.decide = always(FAST)

    run = await agent.run("What is the voltage?", router="native", rounds=4)

    assert run.path == [*[FAST] * 4, "text_response"]
    assert run.decisions[-1].router == "policy"


async def test_too_much_is_summarized_once_and_the_environment_shrinks(agent: Agent) -> None:
    big = [{"page": n, "manual": "Big", "text": f"{n} " + "z" * 40_000} for n in range(1, 5)]
    agent.tools.finds = {FAST: big}
    calls = [[(FAST, {"query": "a"})], [("hybrid_search", {"query": "b"})]]
    agent.model.decide = lambda _: dict(enumerate(calls)).get(len(agent.model.decisions) - 1, [])

    run = await agent.run("What is the voltage?", router="native")

    assert run.path == [FAST, "summarize", "hybrid_search", "text_response"]
    assert json.loads(run.decisions[1].choices[0].inputs_json) == {"max_length": 500}
    sizes = [tree.environment.estimated_tokens for tree in agent.tools.trees]
    assert sizes[1] > 30_000
    assert max(sizes[2:]) < 30_000
    summarized = agent.model.seen[1].messages[0].parts[0].text
    assert all(f"{n} zz" in summarized for n in range(1, 5))
    assert [each["page"] for each in run.response["sources"]] == [1, 2, 3, 4]


@pytest.mark.parametrize(("size", "summarized"), [(120_000, False), (120_001, True)])
async def test_more_than_30_000_tokens_trigger_a_summary_of_500_words(
    agent: Agent, size: int, *, summarized: bool
) -> None:
    start = "The voltage is 24 V. "
    passage = {"text": start + "z" * (size - len(json.dumps({"text": start})))}
    agent.tools.finds = {FAST: [passage]}

    run = await agent.run("What is the voltage?", FAST)

    assert ("summarize" in run.path) is summarized
    prompts = [each.messages[0].parts[0].text for each in agent.model.seen]
    assert any("in at most 500 words" in each for each in prompts) is summarized


async def test_a_summary_has_at_most_200_words_unless_the_model_asks_for_another_length(
    agent: Agent,
) -> None:
    agent.tools.finds = {FAST: [VOLTAGE]}
    agent.model.batches = [[text("word " * 250), done()]]
    calls: list[list[tuple[str, Any]]] = [[(FAST, {"query": "a"})], [("summarize", {})]]
    agent.model.decide = lambda _: dict(enumerate(calls)).get(len(agent.model.decisions) - 1, [])

    run = await agent.run("What is the voltage?", FAST, router="native")

    [declared] = [e for e in agent.model.decisions[1].functions if e.name == "summarize"]
    schema = json.loads(declared.parameters_schema_json)
    assert schema["properties"]["max_length"]["default"] == 200
    [prompt] = [e for e in agent.model.seen if "Summarize" in e.messages[0].parts[0].text]
    assert "in at most 200 words" in prompt.messages[0].parts[0].text
    [summary] = [e["objects"][0]["summary"] for e in run.outputs("result") if e["tool"] != FAST]
    assert len(summary.split()) == 200


async def test_tokens_of_decisions_count_as_part_of_the_run(agent: Agent) -> None:
    run = await agent.run("What is the voltage?", router="native")

    done = run.events[-1].done
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (100, 10)
    assert run.decisions[0].usage.prompt_tokens == 100


async def test_the_token_budget_ends_the_search(agent: Agent) -> None:
    agent.tools.outcome = lambda *_: [{"text": f"number {len(agent.tools.ran)}"}]
    agent.model.decide = always(FAST)
    agent.model.tokens = 600_000

    run = await agent.run("What is the voltage?", router="native", rounds=50)

    assert run.path == [FAST, FAST, "text_response"]
    assert "tokens" in run.decisions[-1].reason


async def test_results_with_long_names_of_sources_are_summarised_once(agent: Agent) -> None:
    agent.tools.finds = {
        FAST: [{"text": f"{n} volts", "manual": f"{n}" + "ü" * 900} for n in range(200)]
    }

    run = await agent.run("What is the voltage?", FAST)

    assert run.path.count("summarize") == 1
    [summary] = [e["objects"][0] for e in run.outputs("result") if e["tool"] != FAST]
    assert summary["summary"]
