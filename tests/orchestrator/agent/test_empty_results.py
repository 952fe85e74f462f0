"""What an agent answers if its tools find nothing that helps."""

from typing import Any

import pytest
from heddle_orchestrator.agent.routers.selection_matrix import Kind, kind_of
from heddle_runtime.errors import ToolFailedError
from orchestrator.agent.scripted_services import FAST, Agent, Run, routing
from orchestrator.harness import ask, prompt_of

QUESTION = "Who won the football match in Girona?"
UNRELATED = {"text": "A loom is a frame.", "title": "Looms", "page": 3, "score": 0.11}
RELATED = {"text": "Girona won the match 2:1.", "title": "News", "score": 0.2}
SIMILAR = {"text": "El equipo local gana.", "title": "Noticias", "score": 0.7}


async def test_an_agent_without_results_says_so_and_names_no_source(agent: Agent) -> None:
    run = await agent.run(QUESTION)

    assert "found nothing about the question" in prompt_of(agent.harness)
    assert run.response["sources"] == []


async def test_passages_about_something_else_are_not_passed_on(agent: Agent) -> None:
    agent.tools.finds = {FAST: [UNRELATED], "hybrid_search": [UNRELATED]}

    run = await agent.run(QUESTION)

    assert "loom" not in prompt_of(agent.harness)
    assert "found nothing about the question" in prompt_of(agent.harness)
    assert run.response["sources"] == []
    assert not any(event.HasField("sources") for event in run.events)


@pytest.mark.parametrize("passage", [RELATED, SIMILAR])
async def test_passages_about_the_question_are_passed_on(
    agent: Agent, passage: dict[str, Any]
) -> None:
    agent.tools.finds = {"hybrid_search": [passage, UNRELATED]}

    run = await agent.run(QUESTION)

    assert passage["text"] in prompt_of(agent.harness)
    assert passage["title"] in [source["manual"] for source in run.response["sources"]]


async def test_an_agent_can_answer_without_the_model_if_there_are_no_results(agent: Agent) -> None:
    agent.tools.finds = {"hybrid_search": [UNRELATED]}
    target = routing(FAST, "hybrid_search")
    target.empty_response = "I do not know."

    for answered in (agent.harness.events, agent.harness.whole):
        run = Run(await answered(ask(target, QUESTION)))
        assert run.text == run.response["text"] == "I do not know."
        assert run.response["sources"] == []
    assert not agent.model.seen
    assert Run(await agent.harness.events(ask(target, "Hello!"))).text == "Hello"


async def test_a_failed_search_is_no_empty_result(agent: Agent) -> None:
    agent.tools.finds = {"hybrid_search": ToolFailedError("The index is broken.")}
    target = routing(FAST, "hybrid_search")
    target.empty_response = "I do not know."

    run = Run(await agent.harness.events(ask(target, QUESTION)))

    assert run.text == "Hello"
    assert "hybrid_search failed: The index is broken." in prompt_of(agent.harness)


async def test_the_rules_do_not_repeat_a_search_that_would_fail_again(agent: Agent) -> None:
    failure = ToolFailedError("There is no such collection.")
    agent.tools.finds = {"fast_vector_search": failure, "hybrid_search": failure}

    await agent.run(QUESTION, "fast_vector_search", "hybrid_search")

    tools = [tool for tool, _ in agent.tools.ran]
    assert sorted(tools) == sorted(set(tools))


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many PDF files are there?", Kind.INVENTORY),
        ("Which documents were uploaded last week?", Kind.INVENTORY),
        ("What is the largest document?", Kind.INVENTORY),
        ("List all the documents.", Kind.INVENTORY),
        ("¿Cuántos documentos hay?", Kind.INVENTORY),
        ("Quants fitxers tens?", Kind.INVENTORY),
        ("What are these documents about?", Kind.THEMES),
        ("What are the main topics?", Kind.THEMES),
        ("Which documents mention looms?", Kind.AMBIGUOUS),
        ("Which file holds the settings?", Kind.FACTUAL),
        ("How many shafts does the loom have?", Kind.FACTUAL),
    ],
)
def test_questions_about_the_documents_as_a_whole_are_a_kind_of_their_own(
    question: str, kind: Kind
) -> None:
    assert kind_of(question) is kind


@pytest.mark.parametrize(
    ("question", "tool"),
    [
        ("How many PDF files are there?", "query_documents_metadata"),
        ("What are the main topics of the documents?", "graph_search"),
    ],
)
async def test_the_rules_send_them_to_the_tools_for_documents_as_a_whole(
    agent: Agent, question: str, tool: str
) -> None:
    agent.tools.finds = {tool: [{"text": "Twelve."}]}

    run = await agent.run(
        question, "hybrid_search", FAST, "query_documents_metadata", "graph_search"
    )

    assert run.path == [tool, "text_response"]
