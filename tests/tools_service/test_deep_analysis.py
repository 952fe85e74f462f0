"""The tool `deep_analysis`: several searches, a model that plans them, and what bounds both."""

import json
from typing import Any

import pytest
from heddle_tools_service.capabilities.passages import FailedSearch, Passage
from heddle_tools_service.sdk import ToolUnavailableError
from heddle_tools_service.testing import Outcome, ScriptedModel, ScriptedPages, ScriptedPassages
from heddle_tools_service.tools.combined_rankings import fused
from heddle_tools_service.tools.deep_analysis import deep_analysis
from heddle_tools_service.tools.investigation import Search, planned
from tools_service.neighbours import failure_of, page, passage, run_tool

HERE: dict[str, Any] = {"collections": ["notes"]}
ASKED: dict[str, Any] = {"query": "How are looms built?"}


def wish(*queries: str, tool: str = "retrieve_documents") -> str:
    return "\n".join(json.dumps({"tool": tool, "query": query}) for query in queries)


async def analysis(
    config: dict[str, Any] | None = None, arguments: dict[str, Any] | None = None, **more: Any
) -> Outcome:
    more.setdefault("passages", ScriptedPassages([passage("A shed is a gap.")]))
    return await run_tool(deep_analysis, {**HERE, **(config or {})}, arguments or ASKED, **more)


async def test_a_model_plans_further_searches_until_nothing_is_missing() -> None:
    model = ScriptedModel([wish("warp beams", "reeds"), wish("heddles"), "DONE"])
    passages = ScriptedPassages([passage("A shed is a gap.")])

    found = await analysis(passages=passages, model=model)

    assert [each.query for each in passages.requests] == [
        "How are looms built?",
        "warp beams",
        "reeds",
        "heddles",
    ]
    assert [status for status in found.statuses if status.startswith("pass")] == [
        "pass 1: How are looms built?",
        "pass 2: warp beams",
        "pass 3: reeds",
        "pass 4: heddles",
    ]
    assert found.result.text == (
        "Searches made, planned by a model: 4.\n\n[1] Manual, page 1\nA shed is a gap."
    )
    facts = found.result.metadata
    assert (facts["passes"], facts["rounds"], facts["planned_passes"]) == (4, 3, 3)
    assert not found.result.warnings


async def test_a_model_that_never_has_enough_is_stopped() -> None:
    class Greedy(ScriptedModel):
        async def __call__(self, prompt: str, /, *, timeout: float, max_tokens: int) -> str:
            await super().__call__(prompt, timeout=timeout, max_tokens=max_tokens)
            return wish(*(f"more {len(self.prompts)}.{number}" for number in range(50)))

    passages, model = ScriptedPassages([passage("x")]), Greedy([""])

    found = await analysis({"max_passes": 5}, passages=passages, model=model)

    assert len(passages.requests) == 5
    assert found.result.metadata["passes"] == 5


async def test_a_model_that_repeats_itself_is_stopped() -> None:
    passages = ScriptedPassages([passage("x")])

    await analysis(passages=passages, model=ScriptedModel([wish("How are  LOOMS built?")]))

    assert len(passages.requests) == 1


async def test_a_slow_model_leaves_time_to_tell_what_was_found() -> None:
    model = ScriptedModel([wish("more")], delay=60)

    found = await analysis(model=model, seconds=3)

    assert "A shed is a gap." in found.result.text
    assert found.result.warnings == ["The small fast model took too long for the analysis."]


async def test_a_slow_search_leaves_time_to_tell_what_others_found() -> None:
    class Slow(ScriptedPassages):
        async def search(self, collections: Any, query: str, **more: Any) -> Any:
            self.delay = 60 if query.endswith("slow") else 0
            return await super().search(collections, query, **more)

    found = await analysis(
        arguments={**ASKED, "focus_areas": ["slow"]},
        passages=Slow([passage("A shed is a gap.")]),
        seconds=1,
    )

    assert "A shed is a gap." in found.result.text
    assert "A pass of the analysis was stopped: its time was over." in found.result.warnings


async def test_without_a_model_question_and_focus_areas_are_searched_for_and_that_is_said() -> None:
    passages = ScriptedPassages([passage("A shed is a gap.")])
    arguments = {**ASKED, "focus_areas": ["warp", " ", "weft"]}

    found = await analysis(arguments=arguments, passages=passages)

    assert [each.query for each in passages.requests] == [
        "How are looms built?",
        "How are looms built? warp",
        "How are looms built? weft",
    ]
    assert found.result.text.startswith(
        "Searches made, for the question and its focus areas: 3.\n\n[1] Manual"
    )
    [warning] = found.result.warnings
    assert warning.startswith("No small fast model is set up")


async def test_a_model_that_fails_costs_nothing_but_its_help() -> None:
    model = ScriptedModel([ToolUnavailableError("The small model gave no answer.")])

    found = await analysis(model=model)

    assert "A shed is a gap." in found.result.text
    assert found.result.warnings == ["The small model gave no answer."]


async def test_the_model_uses_none_but_the_tools_that_are_allowed() -> None:
    wishes = "\n".join([wish("rm", tool="patch_file"), wish("pages", tool="hybrid_search")])
    model = ScriptedModel([wishes, "DONE"])
    passages, pages = ScriptedPassages([passage("x")]), ScriptedPages([page(1)])

    found = await analysis(
        {"tools": ["retrieve_documents"]}, passages=passages, pages=pages, model=model
    )

    assert len(passages.requests) == 1
    assert not pages.requests
    assert found.result.metadata["refused_tools"] == 2


async def test_pages_are_among_what_is_found() -> None:
    model = ScriptedModel([wish("circuit", tool="hybrid_search"), "DONE"])
    pages = ScriptedPages([page(36, "Fig. 7: an amplifier")])

    found = await analysis(pages=pages, model=model)

    assert pages.requests[0].query == "circuit"
    assert "Manual, page 36\nFig. 7: an amplifier" in found.result.text


async def test_when_every_search_fails_so_does_the_tool() -> None:
    failure = FailedSearch("notes", "It is away.", unavailable=True)

    error = await failure_of(deep_analysis, HERE, ASKED, passages=ScriptedPassages(failure=failure))

    assert isinstance(error, ToolUnavailableError)
    assert str(error) == "It is away."


async def test_what_documents_say_is_no_template_of_a_prompt() -> None:
    model = ScriptedModel(["DONE"])
    passages = ScriptedPassages([passage("{task} {tools} {x}")])

    await analysis(passages=passages, model=model)

    assert "- Manual: {task} {tools} {x}" in model.prompts[0]


@pytest.mark.parametrize(
    ("answer", "searches"),
    [
        ("DONE", []),
        ("", []),
        ('1. {"tool": "a", "query": "x"} because', [Search("a", "x")]),
        ('```json\n{"tool": "a", "query": "x"}\n```', [Search("a", "x")]),
        ('{"tool": "a"}\n{"tool": "a", "query": 5}\n{"tool": "a", "query": " "}\n[]\n{', []),
        ("{" * 10_000 + "}", []),
    ],
)
def test_a_plan_is_read_line_by_line_and_nonsense_is_none(
    answer: str, searches: list[Search]
) -> None:
    assert planned(answer, ["a"]) == (searches, [])


def names(found: list[Passage]) -> str:
    return "".join(each.text for each in found)


def test_what_several_searches_find_comes_before_what_one_finds() -> None:
    a, b, c = (passage(name, number) for number, name in enumerate("abc"))
    assert names(fused([[a, b], [c, b]])) == "bac"


async def test_no_more_passages_than_wished_are_told() -> None:
    passages = ScriptedPassages([passage(f"text {number}", number) for number in range(20)])

    found = await analysis({"max_passages": 3, "top_k": 20}, passages=passages)

    assert len(found.result.sources) == 3
    assert "[4]" not in found.result.text
