"""The research assistant, with a search provider that answers as SearXNG does."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from examples.example_heddle import example
from integration.functions.upstream import Body, Delta, Upstream, calls, says, scripted
from tools_service.search_sites import URL, search_sites

ASSISTANT = "assistants/web-research.yaml"
QUESTION = "What is a shed on a loom, and since when?"
ANSWER = f"A gap between warp threads ({URL})."


def by_turns(body: Body) -> Sequence[Delta]:
    """Search once more if the web can be searched, then answer."""
    offered = [each["function"]["name"] for each in body["tools"]]
    if body["messages"][-1]["role"] == "tool" or "web_search" not in offered:
        return [says(ANSWER)]
    return [calls("web_search", json.dumps({"query": "shed loom history"}))]


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Upstream]:
    async with scripted(by_turns) as upstream:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
        yield upstream


async def test_it_searches_for_the_question_and_again_in_words_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Upstream
) -> None:
    async with search_sites() as sites:
        monkeypatch.setenv("HEDDLE_TOOLS_WEB_SEARCH_SEARXNG_URL", sites.url)
        async with example(tmp_path, ASSISTANT) as heddle:
            answers = await heddle.ask("6", QUESTION)

    for answer in answers:
        assert (answer.text, answer.error, answer.warnings) == (ANSWER, {}, [])
        assert answer.outcomes == {"web_search": "used"}
    queries = [request.query["q"] for request in sites.requests]
    assert queries == [QUESTION, "shed loom history"] * 2
    first, second = model.bodies[:2]
    prompt = first["messages"][-1]["content"]
    assert f"[1] Sheds\n{URL}\nThe gap." in prompt
    assert prompt.rstrip().endswith(QUESTION)
    assert {each["function"]["name"] for each in first["tools"]} == {
        "web_search",
        "retrieve_documents",
    }
    assert json.loads(second["messages"][-1]["content"])["results"][0]["url"] == URL


@pytest.mark.exhaustive
async def test_model_and_reader_learn_that_the_web_cannot_be_searched(
    tmp_path: Path, model: Upstream
) -> None:
    async with example(tmp_path, ASSISTANT) as heddle:
        answers = await heddle.ask("6", QUESTION)

    for answer in answers:
        assert answer.warnings[0].startswith("web_search failed: Web search is not set up here.")
    for body in model.bodies:
        assert "The tool web_search failed: Web search is not set up" in str(body["messages"][-1])
