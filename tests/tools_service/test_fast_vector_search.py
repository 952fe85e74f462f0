"""The tool `fast_vector_search`."""

import asyncio
from typing import Any

import pytest
from google.rpc import status_pb2
from heddle.knowledge.v1 import knowledge_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.capabilities.passages import FailedSearch, SearchOptions
from heddle_tools_service.sdk import ToolUnavailableError
from heddle_tools_service.testing import ScriptedPassages, SearchRequest
from heddle_tools_service.tools.fast_vector_search import fast_vector_search
from heddle_tools_service.tools.retrieval import spoken
from tools_service.neighbours import failure_of, passage, run_tool
from tools_service.serving import discovering, invocation, said, serving


async def test_it_embeds_searches_and_tells_what_it_found() -> None:
    knowledge = ScriptedPassages([passage("A shed is a gap.", 3), passage("Warp.", 0, score=0.0)])

    found = await run_tool(fast_vector_search, {}, {"query": "shed"}, passages=knowledge)

    assert found.statuses == ["Embedding query...", "Searching AssetManual..."]
    assert knowledge.requests == [
        SearchRequest(("AssetManual",), "shed", 5, SearchOptions(vector_weight=0.5))
    ]
    content = found.json
    assert content["metadata"].pop("time_ms") >= 0
    assert content == {
        "name": "AssetManual",
        "objects": [
            {
                "text": "A shed is a gap.",
                "title": "Manual",
                "document": "manual.pdf",
                "document_id": "doc_1",
                "chunk_id": "doc_1:3",
                "page": 4,
                "uri": "http://manual/",
                "chunk_index": 3,
                "score": 0.5,
            },
            {
                "text": "Warp.",
                "title": "Manual",
                "document": "manual.pdf",
                "document_id": "doc_1",
                "chunk_id": "doc_1:0",
                "page": 1,
                "uri": "http://manual/",
                "chunk_index": 0,
                "score": 0.0,
            },
        ],
        "metadata": {"query": "shed", "count": 2},
        "llm_message": "Found 2 text results for 'shed'",
    }
    assert set(found.result.metadata) == {"query", "count", "time_ms"}
    assert [source.excerpt for source in found.result.sources] == ["A shed is a gap.", "Warp."]


async def test_without_a_query_it_looks_for_what_the_user_asked() -> None:
    knowledge = ScriptedPassages()

    found = await run_tool(fast_vector_search, {}, {}, query="How wide?", passages=knowledge)

    assert knowledge.requests[0].query == "How wide?"
    assert found.json["llm_message"] == "Found 0 text results for 'How wide?'"


async def test_in_a_slot_it_is_plain_text_with_as_many_passages_as_its_author_says() -> None:
    knowledge = ScriptedPassages([passage("one"), passage("two"), passage("three")])

    found = await run_tool(fast_vector_search, {"limit": 2}, passages=knowledge)

    assert found.result.text == "one\n\ntwo"


@pytest.mark.parametrize(
    ("collections", "named", "searched"),
    [
        (["looms"], None, "looms"),
        (["looms", "yarns"], "yarns", "yarns"),
        (["looms", "yarns"], "AssetManual", "looms"),  # models repeat defaults
    ],
)
async def test_a_model_chooses_among_the_collections_of_the_author(
    collections: list[str], named: str | None, searched: str
) -> None:
    knowledge = ScriptedPassages()
    arguments = {"query": "q", **({"collection": named} if named else {})}

    found = await run_tool(
        fast_vector_search, {"collections": collections}, arguments, passages=knowledge
    )

    assert knowledge.requests[0].collections == (searched,)
    assert found.statuses[-1] == f"Searching {searched}..."


async def test_a_model_reaches_no_other_collection() -> None:
    knowledge = ScriptedPassages()
    arguments = {"query": "q", "collection": "grades"}

    error = await failure_of(
        fast_vector_search, {"collections": ["looms"]}, arguments, passages=knowledge
    )

    assert error.kind == "unknown_collection"
    assert str(error) == ("The collection 'grades' may not be searched here. Choose among 'looms'.")
    assert not knowledge.requests


class HangingKnowledge:
    """A knowledge service whose searches never end."""

    async def SearchCollections(self, *_: object, **__: object) -> None:
        await asyncio.Event().wait()


async def test_the_user_reads_of_the_search_while_it_runs() -> None:
    request = pb.ExecuteToolRequest(
        invocation=invocation("1", "fast_vector_search"), context=said("What is a shed?")
    )
    knowledge: Any = HangingKnowledge()
    async with serving(discovering(None), knowledge=knowledge) as client:
        stream = client.stub.ExecuteTool(request, **new_call_options(5))
        events = aiter(stream)
        statuses = [(await anext(events)).status.message for _ in range(2)]
        stream.cancel()

    assert statuses == ["Embedding query...", "Searching AssetManual..."]


@pytest.mark.parametrize(
    ("recoverable", "suggestion"),
    [
        (True, "Try a different query or check service availability"),
        (False, "Search another collection, or answer without"),
    ],
)
async def test_a_failure_says_whether_to_try_again_and_what_else_to_do(
    *, recoverable: bool, suggestion: str
) -> None:
    failure = FailedSearch("AssetManual", "Collection 'AssetManual' is away.", recoverable)

    error = await failure_of(
        fast_vector_search, {}, {"query": "q"}, passages=ScriptedPassages(failure=failure)
    )

    assert str(error) == "Search failed: Collection 'AssetManual' is away."
    assert error.details["recoverable"] is recoverable
    assert error.details["suggestion"] == suggestion
    assert isinstance(error, ToolUnavailableError) is recoverable


async def test_what_a_backend_did_not_heed_is_told() -> None:
    knowledge = ScriptedPassages([passage("x")], warnings=("It does not heed time_from.",))

    outcome = await run_tool(fast_vector_search, {}, {"query": "q"}, passages=knowledge)

    assert list(outcome.result.warnings) == ["It does not heed time_from."]


class OneCollection:
    """A knowledge service that has no collection but `looms`."""

    async def SearchCollections(
        self, request: knowledge_pb2.SearchCollectionsRequest, **_: object
    ) -> knowledge_pb2.SearchCollectionsResponse:
        missing = status_pb2.Status(code=5, message="There is no such collection.")
        return knowledge_pb2.SearchCollectionsResponse(
            results=[
                knowledge_pb2.CollectionPassages(
                    collection=name, error=None if name == "looms" else missing
                )
                for name in request.collections
            ]
        )

    async def SearchPages(self, *_: object, **__: object) -> knowledge_pb2.SearchPagesResponse:
        return knowledge_pb2.SearchPagesResponse()


@pytest.mark.parametrize("tool", ["fast_vector_search", "hybrid_search"])
@pytest.mark.parametrize(
    ("knowledge", "collections", "available"),
    [
        (OneCollection(), ["looms"], True),
        (OneCollection(), ["gone", "looms"], True),
        (OneCollection(), ["gone"], False),
        (HangingKnowledge(), ["looms"], True),  # it is only slow, as far as anybody knows
    ],
)
async def test_the_agent_cannot_choose_a_search_without_a_collection(
    tool: str, knowledge: Any, collections: list[str], *, available: bool
) -> None:
    call = invocation("1", tool, {"collections": collections})
    request = pb.AssessToolsRequest(invocations=[call], context=said("What is a shed?"))
    async with serving(discovering(None), knowledge=knowledge) as client:
        response = await client.stub.AssessTools(request, **new_call_options(30))

    [assessment] = response.assessments
    assert assessment.available is available
    assert ("no such collection" in assessment.error.message) is not available


@pytest.mark.parametrize(
    ("collections", "named"),
    [
        (["AssetManual"], "AssetManual"),
        (["vs_0123456789abcdef0123456789abcdef"], "documents"),
        (["vs_0123456789abcdef0123456789abcdef", "looms", "7"], "looms, 7"),
    ],
)
def test_a_status_shows_no_identifiers(collections: list[str], named: str) -> None:
    assert spoken(collections) == named
