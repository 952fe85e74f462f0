"""The tool `retrieve_documents`."""

from datetime import UTC, datetime
from typing import Any

import pytest
from heddle_runtime.errors import InvalidRequestError
from heddle_tools_service.capabilities.passages import NO_OPTIONS, FailedSearch, SearchOptions
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.sdk import Assistant, Caller, OfferContext
from heddle_tools_service.testing import ScriptedPassages
from heddle_tools_service.testing.running import requestable
from heddle_tools_service.tools.retrieve_documents import retrieve_documents
from tools_service.neighbours import failure_of, passage, run_tool

HERE: dict[str, Any] = {"collections": ["notes"]}


async def test_passages_come_with_what_to_cite_them_by() -> None:
    long = "A shed is the gap between threads. " * 10
    knowledge = ScriptedPassages(
        [passage(long, 4), passage("short", 0, title="", chunk_index=None, page=0)]
    )

    found = await run_tool(retrieve_documents, HERE, {"query": "sheds"}, passages=knowledge)

    assert found.json == {
        "formatted_text": f"[1] Manual, page 5\n{long}\n\n[2] Untitled\nshort",
        "citation_sources": [
            {
                "chunk_id": "doc_1:4",
                "document_id": "doc_1",
                "doc_title": "Manual",
                "chunk_index": 4,
                "content_preview": f"{long[:200]}...",
                "score": 0.75,
            },
            {
                "chunk_id": "doc_1:0",
                "document_id": "doc_1",
                "doc_title": "Untitled",
                "chunk_index": 0,
                "content_preview": "short",
                "score": 0.75,
            },
        ],
    }
    assert len(found.result.sources) == 2


@pytest.mark.parametrize(
    ("relevance", "score", "told"), [(0.25, 0.5, 0.25), (None, 0.5, 0.5), (0.0, 0.5, 0.0)]
)
async def test_the_score_is_what_ordered_the_passages_and_zero_is_one(
    relevance: float | None, score: float, told: float
) -> None:
    knowledge = ScriptedPassages([passage("x", relevance=relevance, score=score)])

    found = await run_tool(retrieve_documents, HERE, {"query": "q"}, passages=knowledge)

    assert found.json["citation_sources"][0]["score"] == told


@pytest.mark.parametrize(("length", "dots"), [(200, ""), (201, "...")])
async def test_a_preview_has_200_characters(length: int, dots: str) -> None:
    knowledge = ScriptedPassages([passage("x" * length)])

    found = await run_tool(retrieve_documents, HERE, {"query": "q"}, passages=knowledge)

    assert found.json["citation_sources"][0]["content_preview"] == "x" * 200 + dots


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ({}, NO_OPTIONS),
        ({"date_from": "", "date_to": None}, NO_OPTIONS),
        (
            {"date_from": "2024-01-31"},
            SearchOptions(time_from=datetime(2024, 1, 31, tzinfo=UTC)),
        ),
        # The last day counts, and the end of a range does not.
        ({"date_to": "2024-02-28"}, SearchOptions(time_to=datetime(2024, 2, 29, tzinfo=UTC))),
        ({"recency_weight": 0.5}, SearchOptions(recency_weight=0.5)),
    ],
)
async def test_dates_and_recency_are_passed_on_only_if_given(
    said: dict[str, Any], options: SearchOptions
) -> None:
    knowledge = ScriptedPassages()

    await run_tool(retrieve_documents, HERE, {"query": "q", **said}, passages=knowledge)

    assert [each.options for each in knowledge.requests] == [options]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"query": "q", "date_from": "yesterday"},
        {"query": "q", "date_to": "2024-02-30"},
        {"query": "q", "recency_weight": 1.5},
        {"query": "q", "user_id": "7"},
    ],
)
async def test_wrong_arguments_are_refused(arguments: dict[str, Any]) -> None:
    knowledge = ScriptedPassages()
    with pytest.raises(InvalidRequestError) as caught:
        await run_tool(retrieve_documents, HERE, arguments, passages=knowledge)

    assert caught.value.violations
    assert not knowledge.requests


@pytest.mark.parametrize(("collections", "enabled"), [(["a"], True), ([], False), ([""], False)])
def test_it_is_offered_only_with_documents(collections: list[str], enabled: bool) -> None:
    installed = Registry.of(retrieve_documents, capabilities=requestable()).get(
        "retrieve_documents"
    )
    _, config, _ = installed.configs.read({"collections": collections})
    assert retrieve_documents.enabled
    occasion = OfferContext(config, Assistant(), Caller())
    assert retrieve_documents.enabled(occasion) is enabled


async def test_in_a_slot_it_is_the_numbered_text() -> None:
    found = await run_tool(
        retrieve_documents, HERE, passages=ScriptedPassages([passage("A shed is a gap.")])
    )

    assert found.result.text == "[1] Manual, page 1\nA shed is a gap."
    assert found.result.sources[0].excerpt == "A shed is a gap."


async def test_a_failing_collection_is_told() -> None:
    failure = FailedSearch("notes", "Collection 'notes' was not searched: it is away.")

    error = await failure_of(
        retrieve_documents, HERE, {"query": "q"}, passages=ScriptedPassages(failure=failure)
    )

    assert str(error) == failure.message
