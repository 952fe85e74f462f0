"""The register of minutes: documents ingested by `heddle`, and queries over their metadata."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from docs.shell import run
from examples.example_heddle import EXAMPLES, example
from integration.functions.upstream import Body, Delta, calls, says, scripted

ASSISTANT = "assistants/document-metadata.yaml"
QUESTION = "How many approved minutes has each committee, and what changed for loans in spring?"
ANSWER = "The library committee has two, the teaching committee one. Twelve books, not eight."
SQL = (
    "SELECT committee, COUNT(*) AS approved FROM documents WHERE status = 'approved' "
    "GROUP BY committee ORDER BY committee"
)
SPRING = {"query": "loans", "date_from": "2026-01-01", "date_to": "2026-06-30"}


def by_turns(body: Body) -> Sequence[Delta]:
    """Call both tools, and answer when they have answered."""
    if body["messages"][-1]["role"] == "tool":
        return [says(ANSWER)]
    query = calls("query_documents_metadata", json.dumps({"sql": SQL}), 0)
    return [query, calls("retrieve_documents", json.dumps(SPRING), 1)]


@pytest.mark.exhaustive
async def test_it_counts_by_metadata_and_finds_decisions_of_a_span_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted(by_turns) as model:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", model.url)
        async with example(tmp_path, ASSISTANT) as heddle:
            before = await heddle.ask("13", QUESTION)
            ingested = await run(
                f"heddle ingest {EXAMPLES}/documents/minutes --collection minutes",
                HEDDLE_KNOWLEDGE_ADDRESS=heddle.heddle.stack.knowledge,
            )
            answers = await heddle.ask("13", QUESTION)

    for answer in before:
        assert answer.outcomes == {
            "query_documents_metadata": "failed",
            "retrieve_documents": "failed",
        }
        assert "There is no collection 'minutes'." in answer.warnings[0]
    assert "There is no collection 'minutes'." in model.bodies[1]["messages"][-2]["content"]
    assert "minutes: 4 documents (4 new)" in ingested
    for answer in answers:
        assert (answer.text, answer.error, answer.warnings) == (ANSWER, {}, [])
        assert answer.outcomes == {"query_documents_metadata": "used", "retrieve_documents": "used"}
    counted, passages = (turn["content"] for turn in model.bodies[-1]["messages"][-2:])
    assert counted.startswith(f"2 rows, of 4 documents, by the query\n{SQL}")
    assert counted.endswith("| Library committee | 2 |\n| Teaching committee | 1 |")
    text = json.loads(passages)["formatted_text"]
    assert text.startswith(
        "[1] Minutes of the library committee, 12 February 2026\nStudents may borrow twelve books"
    )
    assert "2025" not in text
    assert "October" not in text


@pytest.mark.exhaustive
async def test_without_a_provider_the_request_fails_and_says_so(tmp_path: Path) -> None:
    async with example(tmp_path, ASSISTANT) as heddle:
        answers = await heddle.ask("13", QUESTION)

    for answer in answers:
        assert answer.text == ""
        assert answer.error["message"].startswith(
            "The provider of the model is not set up here. Ask the operator."
        )
