"""The selection matrix, row by row, with the rules."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.agent.policy import is_greeting
from heddle_orchestrator.agent.routers.selection_matrix import Kind, kind_of
from heddle_runtime.errors import UnavailableError
from orchestrator.agent.scripted_services import Agent

PAGE = {"page": 7, "manual": "S-130", "text": "The bit code table, the voltage and the diagram"}
OIL = {"text": "The oil pressure is 3 bar"}
FAST, HYBRID, PAGES, LOOK = (
    "fast_vector_search",
    "hybrid_search",
    "colqwen_search",
    "visual_interpretation",
)


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ("Show me the wiring diagram of the S-130", Kind.VISUAL),
        ("Which figure shows the brake?", Kind.VISUAL),
        ("Where is the schematic?", Kind.VISUAL),
        ("Muéstrame el esquema eléctrico", Kind.VISUAL),
        ("Which bit codes does the controller send?", Kind.TABLE),
        ("What is in the service menu?", Kind.TABLE),
        ("List the technical specs of the motor", Kind.TABLE),
        ("¿Qué dice la tabla de pares?", Kind.TABLE),
        ("What is a relay?", Kind.FACTUAL),
        ("Define hysteresis", Kind.FACTUAL),
        ("Which voltage does the S-130 need?", Kind.FACTUAL),
        ("Was ist ein Relais?", Kind.FACTUAL),
        ("Why does the door stop halfway after a power cut in winter?", Kind.AMBIGUOUS),
        ("Help me figure out why it stops", Kind.AMBIGUOUS),
        ("How do I configure the mirror?", Kind.AMBIGUOUS),
        ("Burn the ISO image onto a stick", Kind.AMBIGUOUS),
        ("What is apt? And how does it differ from dpkg and when do I use which?", Kind.AMBIGUOUS),
    ],
)
def test_words_of_a_request_tell_its_kind(request_: str, kind: Kind) -> None:
    assert kind_of(request_) is kind


@pytest.mark.parametrize(
    ("message", "greeting"),
    [
        ("Hello", True),
        ("hi there!", True),
        ("Bon dia!", True),
        ("Thanks a lot", True),
        ("Hello, how are you?", True),
        ("", True),
        ("Hello, what is the voltage?", False),
        ("Thanks, and the diagram?", False),
        ("Why?", False),
    ],
)
def test_what_asks_for_nothing_is_a_greeting(message: str, greeting: bool) -> None:
    assert is_greeting(message) is greeting


ROWS = [
    ("Show the diagram", {PAGES: [PAGE], LOOK: [PAGE]}, [PAGES, LOOK]),
    ("Show the diagram", {PAGES: [], HYBRID: [PAGE], LOOK: [PAGE]}, [PAGES, HYBRID, LOOK]),
    ("Show the diagram", {PAGES: UnavailableError("down"), HYBRID: [PAGE]}, [PAGES, HYBRID, LOOK]),
    ("Which bit code does it send?", {HYBRID: [PAGE]}, [HYBRID]),
    ("What is the voltage?", {FAST: [PAGE]}, [FAST]),
    ("Why does the diagnosis tell a bit code?", {HYBRID: [PAGE]}, [HYBRID]),
    (
        "What is the oil pressure?",
        {FAST: [PAGE], HYBRID: [PAGE, {"text": "oil pressure"}]},
        [FAST, HYBRID],
    ),
    ("What is the oil pressure?", {FAST: []}, [FAST, HYBRID]),
    ("Which menu changes the oil pressure?", {HYBRID: []}, [HYBRID, HYBRID]),
]


def nothing_to_look_at(tool: str, tree: tool_pb2.TreeData) -> str:
    has_objects = any(each.objects_json for each in tree.environment.findings)
    return "" if tool != LOOK or has_objects else "No page was found."


@pytest.mark.parametrize(("prompt", "finds", "path"), ROWS)
async def test_every_path_of_the_matrix_goes_its_way_and_ends_in_a_response(
    agent: Agent, prompt: str, finds: Mapping[str, Any], path: Sequence[str]
) -> None:
    agent.tools.finds = finds
    agent.tools.hindrance = nothing_to_look_at

    run = await agent.run(prompt)

    assert run.path == [*path, "text_response"]
    assert run.response["text"] == "Hello"
    assert run.events[-1].HasField("done")


async def test_a_fast_search_that_does_not_suffice_falls_back_to_a_hybrid_one(
    agent: Agent,
) -> None:
    agent.tools.finds = {FAST: [], HYBRID: [OIL], "web_search": [OIL]}

    run = await agent.run("What is the oil pressure?", FAST, HYBRID, "web_search")

    query = {"query": "What is the oil pressure?"}
    assert agent.tools.ran == [(FAST, query), (HYBRID, query)]
    assert run.path == [FAST, HYBRID, "text_response"]


async def test_a_visual_question_without_pages_falls_back_to_a_hybrid_search(
    agent: Agent,
) -> None:
    agent.tools.finds = {PAGES: [], HYBRID: [PAGE]}

    run = await agent.run("Show the diagram", PAGES, HYBRID)

    query = {"query": "Show the diagram"}
    assert agent.tools.ran == [(PAGES, query), (HYBRID, query)]
    assert run.path == [PAGES, HYBRID, "text_response"]


async def test_another_search_uses_other_words_and_happens_once(agent: Agent) -> None:
    await agent.run("Which menu changes the oil pressure?")

    assert agent.tools.ran == [
        (HYBRID, {"query": "Which menu changes the oil pressure?"}),
        (HYBRID, {"query": "menu changes oil pressure"}),
    ]


@pytest.mark.parametrize(
    ("bound", "path"),
    [
        (["retrieve_documents"], ["retrieve_documents"]),
        (["web_search", FAST], [FAST]),
        ([HYBRID, "web_search", "retrieve_documents"], [HYBRID, "retrieve_documents"]),
    ],
)
async def test_an_assistant_without_the_search_of_the_matrix_uses_what_it_has(
    agent: Agent, bound: Sequence[str], path: Sequence[str]
) -> None:
    passage = {"text": "The door stops halfway to let people out."}
    agent.tools.finds = {FAST: [passage], "retrieve_documents": [passage], "web_search": [passage]}

    run = await agent.run("Why does the door stop halfway?", *bound)

    assert run.path == [*path, "text_response"]


async def test_tools_that_the_matrix_does_not_know_are_chosen_by_their_words(
    agent: Agent,
) -> None:
    agent.tools.finds = {"weather": [{"text": "12 °C"}]}

    run = await agent.run("Tell me the weather report", "library", "weather", "calendar")

    assert run.path == ["weather", "text_response"]
