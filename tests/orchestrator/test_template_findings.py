"""Slots that get no text, and tools whose output has no place in the template."""

from typing import TYPE_CHECKING

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.validation.template_findings import MAX_FINDINGS
from heddle_runtime.identity.call_metadata import new_call_options
from orchestrator.harness import Harness

if TYPE_CHECKING:  # the generated asynchronous stubs exist only in the type files
    from heddle.orchestrator.v1.orchestrator_pb2_grpc import OrchestratorServiceAsyncStub

Kind = pb.TemplateFinding.Kind
FUNCTION, AGENT = assistant_pb2.MODE_FUNCTION, assistant_pb2.MODE_AGENT
RAG = assistant_pb2.ToolBinding(tool="simple_rag")
Finding = tuple[str, str, str, list[int]]


@pytest.fixture
def stub(harness: Harness) -> "OrchestratorServiceAsyncStub":
    """The orchestrator, whose tools service has two tools."""
    harness.tools.catalog = [
        tool_pb2.Tool(name="simple_rag", default_slot="context"),
        tool_pb2.Tool(name="rubric", default_slot="rubric"),
    ]
    return pb_grpc.OrchestratorServiceStub(harness.orchestrator)


async def findings(
    stub: "OrchestratorServiceAsyncStub",
    template: str,
    *tools: assistant_pb2.ToolBinding,
    processor: str = "",
) -> list[pb.TemplateFinding]:
    """Return the findings about an assistant."""
    assistant = assistant_pb2.Assistant(
        prompt_template=template, tools=tools, prompt_processor=processor
    )
    request = pb.CheckTemplateRequest(assistant=assistant)
    response = await stub.CheckTemplate(request, **new_call_options(10))
    return list(response.findings)


def summary(template: str, mistakes: list[pb.TemplateFinding]) -> list[Finding]:
    """Return kind, slot, the text at the place, and the tools of each finding."""
    return [
        (
            Kind.Name(each.kind).removeprefix("KIND_").lower(),
            each.slot,
            template[each.start : each.end],
            list(each.tools),
        )
        for each in mistakes
    ]


@pytest.mark.parametrize(
    ("template", "tools", "expected"),
    [
        ("{user_input} {context}", [RAG], []),
        ("", [], []),
        ("{user_input} {0} {a b} {{}}", [], []),
        (
            "😀 {user_input} {context}{contxt}{contxt}",
            [RAG],
            [("unknown_slot", "contxt", "{contxt}", [])] * 2,
        ),
        (
            "{user_input} {context}",
            [assistant_pb2.ToolBinding(tool="simple_rag", disabled=True)],
            [("unfilled_slot", "context", "{context}", [0])],
        ),
        (
            "{user_input} {context} {x}",
            [
                assistant_pb2.ToolBinding(tool="simple_rag", mode=FUNCTION),
                assistant_pb2.ToolBinding(tool="simple_rag", mode=AGENT, slot="x"),
                assistant_pb2.ToolBinding(tool="rubric", mode=AGENT, slot="x"),
            ],
            [
                ("unfilled_slot", "context", "{context}", [0]),
                ("unfilled_slot", "x", "{x}", [1, 2]),
            ],
        ),
        (
            "{user_input} {context}",
            [RAG, assistant_pb2.ToolBinding(tool="simple_rag", slot="second")],
            [("tool_without_slot", "second", "", [1])],
        ),
        ("", [RAG], [("tool_without_slot", "context", "", [0])]),
        ("Answer.", [], [("no_user_input", "user_input", "", [])]),
        ("{user_input}", [assistant_pb2.ToolBinding(tool="missing")], []),
    ],
)
async def test_a_mistake_is_returned_with_its_kind_its_place_and_its_tools(
    stub: "OrchestratorServiceAsyncStub",
    template: str,
    tools: list[assistant_pb2.ToolBinding],
    expected: list[Finding],
) -> None:
    mistakes = await findings(stub, template, *tools)
    assert summary(template, mistakes) == expected
    assert all(each.slot in each.description for each in mistakes)


async def test_a_mistyped_slot_has_a_suggestion(stub: "OrchestratorServiceAsyncStub") -> None:
    [mistake] = await findings(stub, "{user_input}{context}{contxt}", RAG)
    assert mistake.description.endswith("Did you mean {context}?")
    assert mistake.suggestion == "context"


async def test_a_slot_of_the_prompt_processor_is_known(
    stub: "OrchestratorServiceAsyncStub",
) -> None:
    template = "{user_input} {moodle_user}"
    assert await findings(stub, template, processor="moodle_augment") == []
    assert len(await findings(stub, template)) == 1


async def test_a_long_template_has_a_limited_number_of_findings(
    stub: "OrchestratorServiceAsyncStub",
) -> None:
    assert len(await findings(stub, "{x}" * 70_000)) == MAX_FINDINGS


async def test_there_are_no_findings_while_the_slots_of_tools_are_unknown(
    harness: Harness, stub: "OrchestratorServiceAsyncStub"
) -> None:
    harness.tools.catalog = None
    assert await findings(stub, "{user_input} {contxt}", RAG) == []
    own_slot = assistant_pb2.ToolBinding(tool="simple_rag", slot="x")
    assert len(await findings(stub, "{user_input} {x} {contxt}", own_slot)) == 1
