"""What search tools return if they find nothing, and the excerpts of their sources."""

from typing import Any

import pytest
from heddle_tools_service.capabilities.passages import FailedSearch
from heddle_tools_service.capabilities.web_search import WebAnswer
from heddle_tools_service.contract.results import result
from heddle_tools_service.sdk import (
    NoOptions,
    Source,
    Tool,
    ToolCall,
    ToolResult,
    TreeData,
    tool,
)
from heddle_tools_service.testing import ScriptedPages, ScriptedPassages
from heddle_tools_service.tools.colqwen_search import colqwen_search
from heddle_tools_service.tools.deep_analysis import deep_analysis
from heddle_tools_service.tools.fast_vector_search import fast_vector_search
from heddle_tools_service.tools.hybrid_search import hybrid_search
from heddle_tools_service.tools.retrieve_documents import retrieve_documents
from heddle_tools_service.tools.simple_rag import hierarchical_rag, simple_rag
from heddle_tools_service.tools.web_search import web_search
from tools_service.neighbours import passage, run_tool

PLACES: dict[str, Any] = {"collections": ["looms", "sheds"]}
CASES: list[tuple[Tool, dict[str, Any], str, str]] = [
    (simple_rag, PLACES, "looms, sheds", "passages"),
    (hierarchical_rag, PLACES, "looms, sheds", "passages"),
    (retrieve_documents, PLACES, "looms, sheds", "passages"),
    (deep_analysis, PLACES, "looms, sheds", "passages"),
    (fast_vector_search, PLACES, "looms", "passages"),
    (hybrid_search, PLACES, "looms, sheds", "passages and pages"),
    (colqwen_search, PLACES, "looms, sheds", "pages"),
    (web_search, {}, "the web", "pages"),
]


class EmptyWeb:
    async def providers(self) -> tuple[str, ...]:
        return ("searxng",)

    async def search(self, query: str, *, max_results: int, provider: str = "") -> WebAnswer:
        return WebAnswer("searxng")


@pytest.mark.parametrize(
    ("searching", "config", "places", "items"),
    CASES,
    ids=[case[0].name for case in CASES],
)
async def test_an_empty_search_says_in_its_slot_what_was_searched(
    searching: Tool, config: dict[str, Any], places: str, items: str
) -> None:
    outcome = await run_tool(
        searching,
        config,
        query="Where is the reed?",
        passages=ScriptedPassages(()),
        pages=ScriptedPages(()),
        web=EmptyWeb(),
    )

    assert outcome.result.count == 0
    sentence = f'A search of {places} for "Where is the reed?" found no {items}.'
    assert outcome.result.text.endswith(sentence)
    assert not outcome.result.sources


@pytest.mark.parametrize(
    ("searching", "config"),
    [
        pytest.param(searching, config, id=searching.name)
        for searching, config, _, _ in CASES
        if "agent" in searching.modes
    ],
)
async def test_an_empty_search_is_no_finding_of_the_agent(
    searching: Tool, config: dict[str, Any]
) -> None:
    outcome = await run_tool(
        searching,
        config,
        {"query": "reed"},
        tree=TreeData("reed"),
        passages=ScriptedPassages(()),
        pages=ScriptedPages(()),
        web=EmptyWeb(),
    )

    message = result(searching.name, searching.slot, outcome.result, "", 0.1, for_agent=True)
    assert message.result_count == 0
    assert message.HasField("result_count")
    assert not message.objects_json


async def test_a_collection_that_was_not_searched_is_not_said_to_be_empty() -> None:
    class Half(ScriptedPassages):
        async def search(self, *args: Any, **options: Any) -> Any:
            results = await super().search(*args, **options)
            return type(results)(failures=(FailedSearch("looms", "'looms' is down."),))

    outcome = await run_tool(simple_rag, PLACES, query="reed", passages=Half(()))

    assert outcome.result.text == 'A search of sheds for "reed" found no passages.'
    assert list(outcome.result.warnings) == ["'looms' is down."]


async def test_a_search_counts_its_results() -> None:
    passages = ScriptedPassages([passage("A."), passage("B.", 1)])

    assert (await run_tool(simple_rag, PLACES, passages=passages)).result.count == 2


@tool("greet", title="Greet")
def greet(_: ToolCall[NoOptions]) -> ToolResult:
    """Greets."""
    return ToolResult("")


@pytest.mark.parametrize(
    ("sources", "excerpts"),
    [
        ([Source("A")], ["The text."]),
        ([Source("A", excerpt="Own.")], ["Own."]),
        ([Source("A"), Source("B")], ["", ""]),
    ],
)
def test_the_only_source_of_a_text_has_an_excerpt(
    sources: list[Source], excerpts: list[str]
) -> None:
    message = result(
        greet.name, greet.slot, ToolResult("The text.", sources), "", 0.1, for_agent=False
    )

    assert [source.excerpt for source in message.sources] == excerpts
