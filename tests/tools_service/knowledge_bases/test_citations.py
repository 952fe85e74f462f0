"""`retrieve_documents`, against a knowledge-base server and the embedded store."""

import json
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_knowledge.collection.names import document_id
from heddle_knowledge.store import KnowledgeStore
from knowledge.kb_server import KnowledgeBaseServer, hit
from tools_service.knowledge_bases.asking import serving_with
from tools_service.serving import Client, invocation, text_of


async def cited(client: Client, **arguments: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what a model reads of `retrieve_documents`, and the warnings."""
    wanted = json.dumps({"query": "What is a shed?", **arguments})
    call = pb.FunctionCall(name="retrieve_documents", arguments_json=wanted)
    asked = invocation("1", "retrieve_documents", {"collections": ["notes"]})
    asked.function_call.CopyFrom(call)
    *_, [*_, last] = await client.run_all([asked])
    assert last.HasField("result"), last
    found: dict[str, Any] = json.loads(text_of(last.result))
    return found, list(last.result.warnings)


async def test_passages_of_the_store_can_be_cited_by_their_identifiers(
    store: KnowledgeStore,
) -> None:
    made = await store.collections.create("notes")
    async for _ in store.documents.ingest(made.id, "shed.md", b"# Sheds\n\nA shed is a gap."):
        pass
    async with serving_with(store) as client:
        found, warnings = await cited(client, recency_weight=0.5, date_from="2020-01-01")

    [source] = found["citation_sources"]
    identifier = document_id(made.id, "shed.md")
    assert source["document_id"] == identifier
    assert (source["chunk_id"], source["chunk_index"]) == (f"{identifier}:0", 0)
    assert (source["doc_title"], source["content_preview"]) == ("Sheds", "A shed is a gap.")
    assert warnings == []


@pytest.mark.exhaustive
async def test_documents_of_another_time_are_not_retrieved(store: KnowledgeStore) -> None:
    made = await store.collections.create("notes")
    async for _ in store.documents.ingest(made.id, "shed.md", b"A shed is a gap."):
        pass
    async with serving_with(store) as client:
        for wish in ({"date_to": "2020-01-01"}, {"date_from": "2120-01-01"}):
            found, _ = await cited(client, **wish)
            assert found["formatted_text"].startswith('A search of notes for "')
            assert found["formatted_text"].endswith("found no passages.")
            assert found["citation_sources"] == []


async def test_what_a_knowledge_base_server_does_not_heed_is_told(
    store: KnowledgeStore, server: KnowledgeBaseServer
) -> None:
    server.answers = {
        "notes": {"results": [hit("A gap.", 0.0, filename="a.md", chunk_index=4, page="2")]}
    }
    async with serving_with(store, server) as client:
        plain, none = await cited(client)
        _, warnings = await cited(client, date_to="2024-01-01", recency_weight=0.5)

    assert none == []
    [warning] = warnings
    assert warning == (
        "Collection 'notes' is at a knowledge-base server, which does not heed time_to, "
        "recency_weight."
    )
    [source] = plain["citation_sources"]
    assert (source["chunk_id"], source["chunk_index"], source["score"]) == ("a.md:4", 4, 0.0)
    assert plain["formatted_text"] == "[1] a.md, page 2\nA gap."
