"""Export and import: an assistant goes elsewhere with its tools, without its owner."""

import json
from typing import Any

import pytest
from assistants.serving import ADA, Caller, Service
from assistants.stored import LEGACY, keep, keep_user, kept
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_assistants.database.engine import Database
from heddle_runtime.errors import AlreadyExistsError, InvalidRequestError
from heddle_runtime.identity import Identity
from heddle_runtime.struct_codec import to_struct

BOB = Identity("bob@college.example", "college")


async def export(caller: Caller, identifier: str) -> str:
    request = pb.ExportAssistantRequest(id=identifier)
    return (await caller.ask(caller.assistants.ExportAssistant, request)).document_json


async def bring(caller: Caller, document: str, name: str = "") -> pb.Assistant:
    request = pb.ImportAssistantRequest(document_json=document, name=name)
    return (await caller.ask(caller.assistants.ImportAssistant, request)).assistant


async def test_what_was_exported_is_imported_with_everything_but_its_owner(
    service: Service,
) -> None:
    made = await service.as_(ADA).create(
        "tutor",
        title="Tutor",
        description="Explains.",
        system_prompt="You teach.",
        prompt_template="{1_context}{user_input}",
        tools=[
            pb.ToolBinding(
                tool="simple_rag",
                slot="1_context",
                config=to_struct({"collections": ["4"], "top_k": 3, "threshold": 0.5}),
                on_failure=pb.FAILURE_POLICY_OMIT,
                extra_json='{"note": "first"}',
            ),
            pb.ToolBinding(tool="weather", mode=pb.MODE_FUNCTION, disabled=True),
        ],
        strategy="sequential",
        capabilities=pb.Capabilities(vision=True),
        verbose=True,
        cite_sources=True,
        extra_json='{"quota": {"enabled": true}}',
        published=True,
    )
    document = await export(service.as_(ADA), "1")
    brought = await bring(service.as_(BOB), document)

    assert (brought.id, brought.owner, brought.organization) == ("2", BOB.subject, "college")
    wanted = pb.Assistant()
    wanted.CopyFrom(made.assistant)
    for name in ("id", "owner", "organization"):
        setattr(wanted, name, getattr(brought, name))
    wanted.create_time.CopyFrom(brought.create_time)
    assert brought == wanted
    assert not (await service.as_(BOB).get("2")).published
    for private in (ADA.subject, "uni"):
        assert private not in document
    assert json.loads(document)["format"] == "heddle.assistant/1"


async def test_a_legacy_assistant_is_exported_in_both_formats(
    service: Service, database: Database
) -> None:
    await keep_user(database, ADA.subject, "uni", 1)
    number = await keep(database)
    file = json.loads(await export(service.as_(ADA), number))
    assert file["name"] == "tutor"  # LAMB puts its maker's number before
    assert (file["RAG_Top_k"], file["RAG_collections"]) == (5, "4, 7")
    assert file["metadata"]["rag_processor"] == "simple_rag"
    assert file["metadata"]["tools"][0]["config"]["collections"] == ["4", "7"]


async def test_no_secret_and_no_address_is_exported(service: Service, database: Database) -> None:
    secret = "sk-abcdefghijklmnop0123456789"
    odd = LEGACY | {
        "api_key": "whatever",
        "note": f"the key is {secret}",
        "by": "eve@uni.example",
        "tools": [{"type": "weather", "config": {"token": "t0ken", "max_tokens": 5}}],
        "long": "x" * 50_000 + " " + secret,
    }
    number = await keep(
        database, metadata=json.dumps(odd), system_prompt="Ask ada@uni.example or help@uni.example."
    )
    document = await export(service.as_(ADA), number)
    for private in ("whatever", secret, "ada@uni", "eve@uni", "t0ken"):
        assert private not in document
    file = json.loads(document)
    assert file["system_prompt"] == "Ask [redacted] or help@uni.example."
    [simple_rag, weather] = file["metadata"]["tools"]
    assert simple_rag["type"] == "simple_rag"
    assert weather["config"] == {"max_tokens": 5}
    assert len(file["metadata"]["long"]) > 50_000


LAMBS: dict[str, dict[str, Any]] = {
    "text": {"api_callback": json.dumps(LEGACY)},
    "object": {"metadata": LEGACY},
    "both": {"metadata": json.dumps(LEGACY), "api_callback": "{}"},
    "promoted": {**LEGACY, "api_callback": ""},
}


@pytest.mark.parametrize("form", LAMBS)
async def test_what_lamb_exported_is_imported(service: Service, form: str) -> None:
    file = {
        "id": 42,
        "name": "7_tutor",
        "owner": "ana@example.org",
        "organization_id": 3,
        "description": None,
        "system_prompt": "You teach.",
        "prompt_template": "{context}{user_input}",
        "RAG_endpoint": "",
        "RAG_Top_k": 4,
        "RAG_collections": "1, 2",
        "published": True,
        "group_id": "g",
        **LAMBS[form],
    }
    brought = await bring(service.as_(ADA), json.dumps(file))
    assert (brought.id, brought.name, brought.owner) == ("1", "7_tutor", ADA.subject)
    assert brought.system_prompt == "You teach."
    assert brought.model == pb.ModelRef(connector="openai", model="gpt-4o-mini")
    [tool] = brought.tools
    assert tool.tool == "simple_rag"
    assert tool.config["top_k"] == 4
    assert not (await service.as_(ADA).get("1")).published


async def test_an_import_takes_the_name_that_is_asked_for(service: Service) -> None:
    ada = service.as_(ADA)
    await ada.create("tutor")
    document = await export(ada, "1")
    with pytest.raises(AlreadyExistsError):
        await bring(ada, document)
    assert (await bring(ada, document, "other")).name == "other"


async def test_an_import_keeps_the_columns_of_lamb(service: Service, database: Database) -> None:
    file = {"name": "tutor", "metadata": LEGACY, "RAG_Top_k": "6", "RAG_collections": "1"}
    brought = await bring(service.as_(ADA), json.dumps(file))
    row = await kept(database, brought.id)
    assert (row.rag_top_k, row.rag_collections) == ("6", "1")
    assert (await service.as_(ADA).record(brought.id)).record.rag_top_k == "6"


@pytest.mark.parametrize(
    "document",
    [
        "not-json{",
        "[1]",
        "[" * 100_000,
        '{"format": "heddle.assistant/2", "name": "a"}',
        '{"name": "a", "metadata": 5}',
        '{"name": "a", "metadata": "not-json{"}',
        '{"name": "a", "metadata": {"_format_version": 9}}',
        '{"name": "a", "description": 5}',
        '{"name": "a", "system_prompt": "\\u0000"}',
        '{"name": "a", "prompt_template": "half \\ud800"}',
        '{"name": "a", "RAG_Top_k": [1]}',
        '{"name": ["a"]}',
    ],
)
async def test_what_is_no_assistant_is_refused(embedded: Service, document: str) -> None:
    with pytest.raises(InvalidRequestError, match="The file to import") as refused:
        await bring(embedded.as_(ADA), document)
    assert [v.field for v in refused.value.violations] == ["document_json"]


async def test_an_import_needs_a_name(embedded: Service) -> None:
    with pytest.raises(InvalidRequestError, match="name"):
        await bring(embedded.as_(ADA), "{}")
