"""The two tools for pages, beside pages that the test knows."""

import pytest
from heddle_tools_service.capabilities.passages import FailedSearch
from heddle_tools_service.sdk import EarlierResult, ToolError, ToolUnavailableError
from heddle_tools_service.testing import ScriptedPages
from heddle_tools_service.tools.colqwen_search import colqwen_search
from heddle_tools_service.tools.pages_seen import pages_seen
from heddle_tools_service.tools.visual_interpretation import visual_interpretation
from tools_service.neighbours import failure_of, page, run_tool

BEST = "/v1/vector_stores/vs_1/files/doc_1/pages/36"


def earlier(tool: str, text: str) -> EarlierResult:
    return EarlierResult("1", tool, "context", text)


async def test_pages_are_told_with_their_scores_and_pictures() -> None:
    known = ScriptedPages([page(36, "Fig. 7"), page(4), page(5), page(6)])
    found = await run_tool(colqwen_search, {}, {"query": "amplifier"}, pages=known)

    told = found.json
    assert told["name"] == "colqwen_search"
    assert [(each["page"], each["preview_url"]) for each in told["objects"]] == [
        (number, f"/v1/vector_stores/vs_1/files/doc_1/pages/{number}") for number in (36, 4, 5)
    ]
    scores = [each["score"] for each in told["objects"]]
    assert scores == sorted(scores, reverse=True)
    assert told["llm_message"] == "Found 3 pages for 'amplifier'"
    metadata = found.result.metadata
    assert told["metadata"] == metadata
    assert metadata["query"] == "amplifier"
    assert metadata["time_ms"] >= 0
    assert (metadata["model"], metadata["visual"]) == ("words-of-pages", False)
    assert (known.requests[0].query, known.requests[0].top_k) == ("amplifier", 3)
    (source, *_) = found.result.sources
    assert (source.kind, source.attributes["page"]) == ("page", "36")
    assert source.attributes["picture_uri"] == BEST


async def test_in_a_slot_each_page_stands_under_its_address() -> None:
    found = await run_tool(
        colqwen_search, query="amplifier", pages=ScriptedPages([page(36, "Fig. 7")])
    )
    assert found.result.text == f"Page 36 of Manual ({BEST}):\nFig. 7"


async def test_it_takes_what_the_model_asks_for() -> None:
    known = ScriptedPages([page(number) for number in range(1, 9)])
    found = await run_tool(colqwen_search, {}, {"query": "a", "top_k": 5}, pages=known)
    assert len(found.json["objects"]) == 5


@pytest.mark.parametrize(("down", "kind"), [(False, ToolError), (True, ToolUnavailableError)])
async def test_a_search_that_fails_is_an_error(*, down: bool, kind: type[ToolError]) -> None:
    failing = ScriptedPages(failure=FailedSearch("AssetManual", "it is broken", unavailable=down))
    error = await failure_of(colqwen_search, {}, {"query": "a"}, pages=failing)
    assert type(error) is kind
    assert "it is broken" in str(error)
    assert error.details["recoverable"] is down


async def test_the_page_that_is_named_is_looked_at() -> None:
    known = ScriptedPages([page(4), page(36, "Fig. 7")])
    arguments = {"image_path": BEST, "prompt": "Which resistor?"}
    found = await run_tool(visual_interpretation, {}, arguments, pages=known)

    (told,) = found.json["objects"]
    assert told == {
        "interpretation": "Seen on 36: Which resistor?",
        "page": 36,
        "image_path": BEST,
    }
    assert (found.result.metadata["model"], found.result.metadata["visual"]) == ("scripted", True)
    assert found.result.sources[0].attributes["page"] == "36"


async def test_without_a_name_it_is_the_best_that_was_found() -> None:
    known = ScriptedPages([page(36, "Fig. 7"), page(4)])
    seen = await run_tool(colqwen_search, query="amplifier", pages=known)
    found = await run_tool(
        visual_interpretation,
        {},
        {"prompt": "?"},
        pages=known,
        earlier=[earlier("colqwen_search", seen.result.text)],
    )
    assert found.json["objects"][0]["page"] == 36


@pytest.mark.parametrize(
    ("results", "seen"),
    [
        ((), []),
        ((earlier("colqwen_search", '{"objects": []}'),), []),
        ((earlier("simple_rag", f"see {BEST}"),), []),
        ((earlier("hybrid_search", f"Page 36 ({BEST}): a"),), [BEST]),
    ],
)
async def test_there_is_something_to_look_at_only_if_pages_were_found(
    results: tuple[EarlierResult, ...], seen: list[str]
) -> None:
    assert [each.picture_uri for each in pages_seen(results)] == seen
    if not seen:
        error = await failure_of(visual_interpretation, {}, {"prompt": "?"}, earlier=results)
        assert error.kind == "no_pages"
        assert "colqwen_search" in str(error)
