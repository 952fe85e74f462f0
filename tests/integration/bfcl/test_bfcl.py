"""A model that writes public ground truths as text leaves the world as the truths do."""

import random
from pathlib import Path

import pytest
from connector.toolcalls.bfcl import WRITERS
from integration.bfcl.replay import Replayed, replaying
from integration.bfcl.scenarios import CATEGORIES, scenarios
from runtime.examples import sampled

_FEW = 24
CONTRADICTIONS = {
    # The truth has a text where the document of the function asks for an integer.
    "base_173": "arguments.ticket_id must be of type integer",
    "miss_func_173": "arguments.ticket_id must be of type integer",
    "miss_param_173": "arguments.ticket_id must be of type integer",
    "long_context_173": "arguments.ticket_id must be of type integer",
    # The truth calls a function two turns before the question offers it.
    "miss_func_49": "tail",
}
"""Conversations of the leaderboard that contradict themselves, and what Heddle answers to that."""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASE_URL", "API_KEY"):
        monkeypatch.setenv(f"HEDDLE_CONNECTOR_OPENAI_{name}", "replaced")


@pytest.mark.exhaustive
@pytest.mark.timeout(400)
@pytest.mark.parametrize("category", sampled(CATEGORIES, 1))
async def test_conversations_end_as_where_the_leaderboard_runs_them(
    category: str, tmp_path: Path
) -> None:
    chosen = scenarios(category)
    if category != "base":  # the others share most of its calls
        chosen = random.Random(category).sample(chosen, _FEW)  # noqa: S311 - always the same

    found: list[Replayed] = []
    async with replaying(tmp_path) as replays:
        for number, style in enumerate(WRITERS):
            found += await replays.all_of(chosen[number :: len(WRITERS)], style)

    assert len(found) == len(chosen)
    for each in found:
        if contradiction := CONTRADICTIONS.get(each.scenario.name.removeprefix("multi_turn_")):
            assert contradiction in each.wrong
        else:
            assert not each.wrong, each.scenario.name


async def test_conversations_leave_each_others_worlds_alone(tmp_path: Path) -> None:
    scenario = scenarios("base")[0]

    async with replaying(tmp_path) as replays:
        found = [await replays.one(scenario, style) for style in WRITERS]

    assert [each.wrong for each in found] == ["", "", ""]
