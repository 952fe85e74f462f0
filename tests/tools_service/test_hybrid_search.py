"""The tool `hybrid_search`."""

import asyncio
from typing import Any

import pytest
from heddle_tools_service.capabilities.passages import FailedSearch
from heddle_tools_service.sdk import ToolError
from heddle_tools_service.testing import ScriptedPages, ScriptedPassages
from heddle_tools_service.tools.hybrid_search import hybrid_search
from tools_service.neighbours import failure_of, page, passage, run_tool


class Knowing(ScriptedPassages):
    """Finds all that it knows: so many in each collection."""

    async def search(self, *given: Any, **more: Any) -> Any:
        return await super().search(*given, **{**more, "top_k": 1_000})


async def test_it_finds_text_and_pages() -> None:
    knowledge = ScriptedPassages([passage(f"text {number}", number) for number in range(9)])
    pages = ScriptedPages([page(20, "Fig. 1"), page(21), page(22)])

    found = await run_tool(hybrid_search, {}, {"query": "q"}, passages=knowledge, pages=pages)

    told = found.json
    assert [each["text"] for each in told["text_results"]] == ["text 0", "text 1", "text 2"]
    assert [(each["page"], each["score"]) for each in told["visual_results"]] == [
        (20, 0.9),
        (21, 0.9),
    ]
    preview = "/v1/vector_stores/vs_1/files/doc_1/pages/20"
    assert told["visual_results"][0]["preview_url"] == preview
    assert told["llm_message"] == "Found 3 text results and 2 pages for 'q'"
    assert (told["metadata"]["model"], told["metadata"]["visual"]) == ("words-of-pages", False)
    [asked] = knowledge.requests
    assert (asked.query, asked.top_k, asked.options.vector_weight) == ("q", 3, 0.5)
    assert (pages.requests[0].query, pages.requests[0].top_k) == ("q", 2)


async def test_both_searches_run_at_once() -> None:
    together = asyncio.Barrier(2)

    class Meeting(ScriptedPassages):
        async def search(self, *given: Any, **more: Any) -> Any:
            await together.wait()
            return await super().search(*given, **more)

    class MeetingPages(ScriptedPages):
        async def search(self, *given: Any, **more: Any) -> Any:
            await together.wait()
            return await super().search(*given, **more)

    async with asyncio.timeout(5):
        found = await run_tool(
            hybrid_search,
            {},
            {"query": "q"},
            passages=Meeting([passage("text")]),
            pages=MeetingPages([page(9)]),
        )

    assert len(found.json["text_results"] + found.json["visual_results"]) == 2


async def test_a_page_that_both_find_comes_once_with_the_passage_in_it() -> None:
    knowledge = ScriptedPassages(
        [
            passage("on page 3", 2),
            passage("elsewhere", 7),
            passage("of another", 2, document_id="doc_2"),
        ]
    )
    pages = ScriptedPages([page(3, "all of page 3")])

    found = await run_tool(hybrid_search, {}, {"query": "q"}, passages=knowledge, pages=pages)

    told = found.json
    assert [each["text"] for each in told["text_results"]] == ["elsewhere", "of another"]
    assert [each["passage"] for each in told["visual_results"]] == ["on page 3"]


async def test_a_passage_that_stands_in_two_collections_comes_once() -> None:
    knowledge = ScriptedPassages(
        [passage("the same", 1), passage("the  same", 2), passage("new", 3)]
    )

    found = await run_tool(
        hybrid_search, {"collections": ["a", "b"]}, {"query": "q"}, passages=knowledge
    )

    assert [each["text"] for each in found.json["text_results"]] == ["the same", "new"]


async def test_every_collection_has_its_turn() -> None:
    found_there = [passage(f"{name}{n}", collection=name) for name in "ab" for n in range(3)]

    found = await run_tool(
        hybrid_search,
        {"collections": ["a", "b"]},
        {"query": "q"},
        passages=Knowing(found_there),
    )

    assert [each["text"] for each in found.json["text_results"]] == ["a0", "b0", "a1"]


@pytest.mark.parametrize("raised", [True, False])
@pytest.mark.parametrize("failing", ["text", "pages"])
async def test_when_one_search_fails_the_other_counts(failing: str, *, raised: bool) -> None:
    failure = FailedSearch("AssetManual", "It is away.")
    broken: dict[str, Any] = {"error": ToolError("It is away.")} if raised else {"failure": failure}
    knowledge = ScriptedPassages([passage("text")], **(broken if failing == "text" else {}))
    pages = ScriptedPages([page(9)], **(broken if failing == "pages" else {}))

    found = await run_tool(hybrid_search, {}, {"query": "q"}, passages=knowledge, pages=pages)

    told = found.json
    assert bool(told["text_results"]) is (failing == "pages")
    assert bool(told["visual_results"]) is (failing == "text")
    [warning] = found.result.warnings
    assert "It is away." in warning
    assert told["warnings"] == [warning]


async def test_when_both_fail_so_does_the_tool() -> None:
    failure = FailedSearch("AssetManual", "It is away.", unavailable=True)

    error = await failure_of(
        hybrid_search,
        {},
        {"query": "q"},
        passages=ScriptedPassages(failure=failure),
        pages=ScriptedPages(failure=failure),
    )

    assert str(error) == "Search failed: It is away."
    assert error.details["recoverable"] is True


async def test_without_pages_it_is_a_search_of_text() -> None:
    found = await run_tool(hybrid_search, {}, {}, passages=ScriptedPassages([passage("text")]))

    assert len(found.json["text_results"]) == 1
    assert found.json["visual_results"] == []
    assert not found.result.warnings


async def test_in_a_slot_it_is_plain_text() -> None:
    knowledge = ScriptedPassages([passage("on page 3", 2), passage("elsewhere", 7)])
    pages = ScriptedPages([page(3, "all of page 3"), page(4, "all of page 4")])

    found = await run_tool(hybrid_search, passages=knowledge, pages=pages)

    assert found.result.text == "elsewhere\n\non page 3\n\nall of page 4"
