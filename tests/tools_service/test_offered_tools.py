"""Which tools models are offered: those that have documents, and that the operator leaves on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import knowledge_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import NotFoundError, from_status
from heddle_runtime.identity.call_metadata import new_call_options
from structlog.testing import capture_logs
from tools_service.services import services
from tools_service.serving import Client, invocation

DOCUMENT_TOOLS = (
    *("retrieve_documents", "query_documents_metadata", "graph_search", "deep_analysis"),
)
AGENT_TOOLS = DOCUMENT_TOOLS[:3]
TOOL = "query_documents_metadata"
SEARCH = "retrieve_documents"


def invocations(names: Sequence[str], *collections: str) -> list[pb.ToolInvocation]:
    return [invocation(name, name, {"collections": list(collections)}) for name in names]


async def offered(client: Client, *collections: str) -> tuple[set[str], set[str]]:
    """Return the tools that are offered as functions, and those that the agent may choose."""
    functions = await client.stub.ListFunctions(
        pb.ListFunctionsRequest(invocations=invocations(DOCUMENT_TOOLS, *collections)),
        **new_call_options(30),
    )
    assessed = await client.stub.AssessTools(
        pb.AssessToolsRequest(
            invocations=invocations(AGENT_TOOLS, *collections), context=pb.RunContext()
        ),
        **new_call_options(30),
    )
    return (
        {each.id for each in functions.functions if each.functions},
        {each.id for each in assessed.assessments if each.available},
    )


async def create(knowledge: Any, name: str) -> None:
    await knowledge.CreateCollection(
        knowledge_pb2.CreateCollectionRequest(collection=knowledge_pb2.Collection(name=name)),
        **new_call_options(30),
    )


async def test_tools_for_documents_are_offered_only_with_documents(tmp_path: Path) -> None:
    async with services(tmp_path, assistants_address="none") as both:
        for name in ("empty", "notes"):
            await create(both.knowledge_stub, name)
        nothing = await offered(both.client, "empty", "notes")
        document = knowledge_pb2.IngestDocumentRequest(
            collection="notes", name="a.txt", data=b"A shed is a gap."
        )
        ingestion = both.knowledge_stub.IngestDocument(document, **new_call_options(60))
        assert [_ async for _ in ingestion]
        everything = await offered(both.client, "empty", "notes")
        unknown = await offered(both.client, "missing")

    assert nothing == (set(), set())
    assert everything == ({*DOCUMENT_TOOLS}, {*AGENT_TOOLS})
    # As functions they say what is wrong. The agent does not choose a search that must fail.
    assert unknown == ({*DOCUMENT_TOOLS}, {*AGENT_TOOLS} - {SEARCH})


@pytest.mark.parametrize("as_function", [True, False], ids=["as a function", "for a slot"])
async def test_a_tool_that_is_switched_off_is_neither_offered_nor_run(
    tmp_path: Path, *, as_function: bool
) -> None:
    settings = {"disabled": [TOOL, "no_such_tool"]}
    with capture_logs() as logs:
        async with services(tmp_path, settings, assistants_address="none") as both:
            functions, chosen = await offered(both.client, "missing")
            call = invocation("1", TOOL, {"collections": ["missing"]})
            if as_function:
                call.function_call.name = TOOL
                call.function_call.arguments_json = '{"sql": "SELECT 1"}'
            [[*_, event]] = await both.client.run_all([call], pb.RunContext(), seconds=10)

    assert functions == {*DOCUMENT_TOOLS} - {TOOL}
    assert chosen == {*AGENT_TOOLS} - {TOOL, SEARCH}
    error = from_status(event.error)
    assert type(error) is NotFoundError
    assert "switched off" in error.message
    [line] = [each for each in logs if "switched off" in each["event"]]
    assert line["tool"] == "no_such_tool"
