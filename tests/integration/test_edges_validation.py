"""What is refused, warned about or reported when assistants are stored, and in chat requests.

Through the gateway and over gRPC, with a process for each service.
"""

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio
from google.protobuf.json_format import ParseDict
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1 import assistant_pb2_grpc as pb_grpc
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2, orchestrator_pb2_grpc
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import InvalidRequestError, from_rpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import new_call_options
from integration.browser import browser
from integration.processes import Processes, processes
from integration.provider import Provider, providing
from patience import until
from runtime.examples import sampled

pytestmark = pytest.mark.asyncio(loop_scope="module")
GOOD = {"connector": "bypass", "model": "simple-bypass"}
SEARCH = {"type": "simple_rag", "config": {"collections": ["12"], "top_k": 5}}
LAMB = {
    "connector": "bypass",
    "llm": "simple-bypass",
    "prompt_processor": "simple_augment",
    "rag_processor": "simple_rag",
}
CREATE, UPDATE = "/creator/assistant/create_assistant", "/creator/assistant/update_assistant"
FILE = """\
id: 70
name: from_file
model:
  connector: bypass
  model: simple-bypass
tools:
  - type: simple_rag
    config:
      collections: [7]
      top_k: 99
  - config: {}
  - type: nope
strategy: magic
titel: Loom
"""


@dataclass
class Heddle:
    """All services, in a process each."""

    services: Processes
    client: httpx.AsyncClient
    channel: grpc.aio.Channel
    provider: Provider
    names: int = 0

    @property
    def assistants(self) -> Any:
        return pb_grpc.AssistantServiceStub(self.channel)

    def name(self) -> str:
        self.names += 1
        return f"assistant_{self.names}"

    def body(self, **members: Any) -> dict[str, Any]:
        return {"name": self.name(), "model": GOOD, **members}

    async def created(self, **members: Any) -> dict[str, Any]:
        response = await self.client.post("/assistants", json=self.body(**members))
        assert response.status_code == 201, response.text
        stored: dict[str, Any] = response.json()
        return stored

    def legacy(self, metadata: str) -> int:
        """Store a row of LAMB's, as an import does."""
        columns = ("organization_id", "name", "title", "owner", "metadata")
        values = (0, self.name(), "", "developer", metadata)
        with sqlite3.connect(self.services.folder / "heddle.db", timeout=10) as database:
            row = database.execute(
                f"INSERT INTO assistants ({','.join(columns)}, published, created_at, updated_at,"  # noqa: S608 - names of columns
                " revision) VALUES (?, ?, ?, ?, ?, 0, 1, 1, 0)",
                values,
            )
            return int(row.lastrowid or 0)

    def metadata(self, number: int) -> str:
        with sqlite3.connect(self.services.folder / "heddle.db", timeout=10) as database:
            query = "SELECT metadata FROM assistants WHERE id = ?"
            return str(database.execute(query, (number,)).fetchone()[0])


def violations(response: httpx.Response, status: int = 400) -> dict[str, str]:
    """Return the violations of an error by their fields."""
    assert response.status_code == status, response.text
    error = response.json()["error"]
    for each in error["violations"]:
        assert each["description"] in error["message"]
    return {each["field"]: each["description"] for each in error["violations"]}


def warnings(response: httpx.Response) -> dict[str, str]:
    """Return the warnings of a response by their fields."""
    assert response.is_success, response.text
    return {each["field"]: each["description"] for each in response.json()["warnings"]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Heddle]:
    folder: Path = tmp_path_factory.mktemp("heddle")
    (folder / "assistants").mkdir()
    (folder / "assistants" / "file.yaml").write_text(FILE)
    async with providing() as provider:
        environment = {
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": provider.url,
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "sk-test-0123456789abcdef",
            f"HEDDLE_{SETTING.upper()}": "127.0.0.0/8",
        }
        async with (
            processes(folder, **environment) as services,
            browser(services.url, timeout=60) as client,
            grpc.aio.insecure_channel(
                f"127.0.0.1:{services.ports['heddle_assistants']}"
            ) as channel,
        ):
            running = Heddle(services, client, channel, provider)
            await running.created()  # which creates the organisation that rows of LAMB belong to
            yield running


# Each fault of an assistant, as members of its JSON form, and the fields that are named.
FAULTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "connector": ({"model": {**GOOD, "connector": "nowhere"}}, ["model.connector"]),
    "closed list of models": ({"model": {**GOOD, "model": "no"}}, ["model.model"]),
    "strategy": ({"strategy": "magic"}, ["strategy"]),
    "hosts": ({"output_hosts": "good.example https://evil.example"}, ["output_hosts"]),
    "prompt processor": ({"prompt_processor": "magic"}, ["prompt_processor"]),
    "tool": ({"tools": [{"type": "nope"}]}, ["tools[0].type"]),
    "mode": ({"tools": [{"type": "weather", "mode": "agent"}]}, ["tools[0].mode"]),
    "out of range": (
        {"tools": [SEARCH, {**SEARCH, "config": {"collections": [], "top_k": 99}}]},
        ["tools[1].config.top_k"],
    ),
    "type of an option": (
        {"tools": [{**SEARCH, "config": {"collections": [], "top_k": "5"}}]},
        ["tools[0].config.top_k"],
    ),
    "unknown option": (
        {"tools": [{**SEARCH, "config": {"collections": [], "topk": 5}}]},
        ["tools[0].config.topk"],
    ),
    "missing option": ({"tools": [{"type": "simple_rag"}]}, ["tools[0].config.collections"]),
    "empty option": (
        {"tools": [{"type": "single_file", "config": {"file_path": " "}}]},
        ["tools[0].config.file_path"],
    ),
    "several": (
        {
            "model": {"connector": "nowhere", "model": "x"},
            "strategy": "magic",
            "tools": [{"type": "nope"}, {**SEARCH, "config": {"top_k": 0, "threshold": 2}}],
        },
        [
            *("model.connector", "strategy", "tools[0].type", "tools[1].config.collections"),
            *("tools[1].config.threshold", "tools[1].config.top_k"),
        ],
    ),
}
UNREADABLE = {
    "max_tool_rounds": 99,
    "verbose": "yes",
    "titel": "x",
    "tools": [{"type": "a", "mode": "x"}, {}, {"type": "nope"}],
}
UNREADABLE_FIELDS = {
    *("max_tool_rounds", "verbose", "titel", "tools[0].mode", "tools[0].type"),
    *("tools[1].type", "tools[2].type"),
}


@pytest.mark.parametrize("name", sampled(FAULTS, 6))
async def test_faults_are_refused_by_rest_when_creating_and_editing(
    heddle: Heddle, name: str
) -> None:
    members, fields = FAULTS[name]
    refused = await heddle.client.post("/assistants", json=heddle.body(**members))
    assert sorted(violations(refused)) == sorted(fields)
    stored = await heddle.created()
    path = f"/assistants/{stored['id']}"
    edit = {**stored, **members}
    assert sorted(violations(await heddle.client.put(path, json=edit))) == sorted(fields)
    report = (await heddle.client.post("/assistants/validate", json=edit)).json()
    assert sorted(each["field"] for each in report["violations"]) == sorted(fields)
    assert (report["valid"], report["warnings"]) == (False, [])
    assert (await heddle.client.get(path)).json() == stored


@pytest.mark.parametrize("name", sampled(FAULTS, 3))
async def test_faults_are_refused_over_grpc(heddle: Heddle, name: str) -> None:
    members, fields = FAULTS[name]
    members = json.loads(json.dumps(members).replace('"type"', '"tool"'))
    for binding in members.get("tools", ()):
        if "mode" in binding:
            binding["mode"] = f"MODE_{binding['mode'].upper()}"
    body = {"name": heddle.name(), "model": GOOD, **members}
    assistant = ParseDict(body, pb.Assistant())
    expected = {f"assistant.{field.replace('].type', '].tool')}" for field in fields}
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await heddle.assistants.CreateAssistant(
            pb.CreateAssistantRequest(assistant=assistant), **new_call_options(30)
        )
    error = from_rpc(refused.value)
    assert isinstance(error, InvalidRequestError)
    assert {each.field for each in error.violations} == expected
    dry_run = await heddle.assistants.CreateAssistant(
        pb.CreateAssistantRequest(assistant=assistant, validate_only=True), **new_call_options(30)
    )
    assert {each.field for each in dry_run.violations} == expected
    assert not dry_run.assistant.id
    address = f"127.0.0.1:{heddle.services.ports['heddle_orchestrator']}"
    async with grpc.aio.insecure_channel(address) as channel:
        orchestrator: Any = orchestrator_pb2_grpc.OrchestratorServiceStub(channel)
        request = orchestrator_pb2.ValidateAssistantRequest(assistant=assistant)
        response = await orchestrator.ValidateAssistant(request, **new_call_options(30))
    assert {each.field for each in response.violations} == expected


async def test_a_check_finds_slots_without_a_tool_and_tools_without_a_slot(heddle: Heddle) -> None:
    tools = [{"type": "word_count"}, {"type": "word_count", "slot": "words"}]
    body = heddle.body(prompt_template="😀 {user_input} {words} {wrds}", tools=tools)
    report = (await heddle.client.post("/assistants/validate", json=body)).json()
    assert report["valid"]
    [unknown, unplaced] = report["template_findings"]
    assert (unknown["kind"], unknown["slot"]) == ("unknown_slot", "wrds")
    assert body["prompt_template"][unknown["start"] : unknown["end"]] == "{wrds}"
    assert (unplaced["kind"], unplaced["tools"]) == ("tool_without_slot", [0])


async def test_members_that_cannot_be_read_are_all_named_with_the_other_faults(
    heddle: Heddle,
) -> None:
    body = heddle.body(strategy="magic", **UNREADABLE)
    expected = UNREADABLE_FIELDS | {"strategy"}
    assert set(violations(await heddle.client.post("/assistants", json=body))) == expected
    stored = await heddle.created()
    refused = await heddle.client.put(f"/assistants/{stored['id']}", json=body)
    assert set(violations(refused)) == expected


async def test_authors_learn_that_a_connector_does_not_call_functions(heddle: Heddle) -> None:
    listed = (await heddle.client.get("/lamb/v1/completions/list")).json()["connectors"]
    calls = {name: each["calls_functions"] for name, each in listed.items()}
    assert (calls["bypass"], calls["openai"]) == (False, True)
    function = {"type": "weather", "mode": "function"}
    created = await heddle.client.post("/assistants", json=heddle.body(tools=[SEARCH, function]))
    shown = warnings(created)
    assert set(shown) == {"tools[1].mode"}
    assert shown["tools[1].mode"].startswith("bypass does not call functions")
    model = {"connector": "openai", "model": "gpt"}
    calling = await heddle.client.post(
        "/assistants", json=heddle.body(tools=[function], model=model)
    )
    assert warnings(calling) == {}


# The changes of LAMB's form, and the fields that are named.
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "results": ({"RAG_Top_k": 99, "RAG_collections": "1"}, {}, {"RAG_Top_k"}),
    "no number": ({"RAG_Top_k": "many"}, {}, {"RAG_Top_k"}),
    "connector": ({}, {"connector": "nowhere"}, {"metadata.connector"}),
    "model": ({}, {"llm": "no"}, {"metadata.llm"}),
    "processors": (
        {},
        {"prompt_processor": "magic", "rag_processor": "magic_rag", "orchestrator": "magic"},
        {"metadata.prompt_processor", "metadata.rag_processor", "metadata.orchestrator"},
    ),
    "no rubric": ({}, {"rag_processor": "rubric_rag"}, {"metadata.rubric_id"}),
    "tools": (
        {"RAG_collections": "1"},
        {"tools": ["weather", "nope"]},
        {"metadata.tools[1].type"},
    ),
}


@pytest.mark.parametrize("name", sampled(FORMS, 4))
async def test_faults_are_refused_in_forms_of_lamb(heddle: Heddle, name: str) -> None:
    members, metadata, fields = FORMS[name]
    form = {"name": heddle.name(), "metadata": {**LAMB, **metadata}, **members}
    refused = await heddle.client.post(CREATE, json=form)
    assert set(violations(refused)) == fields
    assert refused.json()["detail"] == refused.json()["error"]["message"]
    new = {**form, "metadata": LAMB, "RAG_Top_k": 3, "RAG_collections": 12}
    number = (await heddle.client.post(CREATE, json=new)).json()["assistant_id"]
    before = heddle.metadata(number)
    assert set(violations(await heddle.client.put(f"{UPDATE}/{number}", json=form))) == fields
    assert heddle.metadata(number) == before


async def test_unchanged_faults_are_warnings_and_new_ones_are_refused(heddle: Heddle) -> None:
    number = heddle.legacy(
        '{"_format_version": 2, "connector": "gone", "llm": "m", "prompt_processor": '
        '"simple_augment", "tools": [{"type": "simple_rag", "mode": "augment", "enabled": true, '
        '"id": "a", "config": {"collections": ["1"], "top_k": 99}}]}'
    )
    path = f"/assistants/{number}"
    stored = (await heddle.client.get(path)).json()
    assert stored["tools"][0]["config"]["top_k"] == 99
    edit = {**stored, "description": "New."}
    known = {"model.connector", "tools[0].config.top_k"}
    report = (await heddle.client.post("/assistants/validate", json=edit)).json()
    assert (report["valid"], {each["field"] for each in report["warnings"]}) == (True, known)
    assert set(warnings(await heddle.client.put(path, json=edit))) == known
    # Other tools before it change its position, and nothing about its fault.
    moved = {**edit, "tools": [{"type": "weather"}, *stored["tools"]]}
    moved["tools"][0] = {**SEARCH, "id": "b"}
    response = await heddle.client.put(path, json=moved)
    assert set(warnings(response)) == {"model.connector", "tools[1].config.top_k"}
    worse = json.loads(json.dumps(edit))
    worse["tools"][0]["config"]["top_k"] = 100
    assert set(violations(await heddle.client.put(path, json=worse))) == {"tools[0].config.top_k"}
    form = {"description": "Newer.", "metadata": {**LAMB, "connector": "gone", "llm": "m"}}
    assert "metadata.connector" in warnings(
        await heddle.client.put(f"{UPDATE}/{number}", json=form)
    )


async def test_identifiers_may_be_numbers(heddle: Heddle) -> None:
    tools = [{**SEARCH, "config": {"collections": [12, "12"]}}]
    stored = await heddle.created(id=5, tools=tools)
    assert stored["tools"][0]["config"]["collections"] == ["12", "12"]
    assert stored["extra"] == {}
    report = await heddle.client.post(
        "/assistants/validate", json={**stored, "id": int(stored["id"])}
    )
    assert {**report.json(), "template_findings": []} == {
        "valid": True,
        "violations": [],
        "warnings": [],
        "template_findings": [],
    }
    form = {"name": heddle.name(), "metadata": LAMB, "RAG_Top_k": "4", "RAG_collections": 12}
    number = (await heddle.client.post(CREATE, json=form)).json()["assistant_id"]
    record = (await heddle.client.get(f"/creator/assistant/get_assistant/{number}")).json()
    assert (record["RAG_Top_k"], record["RAG_collections"]) == (4, "12")


async def test_files_are_loaded_and_their_faults_reported_with_lines(heddle: Heddle) -> None:
    def log() -> str:
        return heddle.services.log("heddle_assistants").replace(" ", "")

    await until(lambda: '"field":"strategy"' in log())
    reported = warnings(await heddle.client.get("/assistants/70"))
    lines = {
        field: text.partition("(line ")[2].partition(" ")[0] for field, text in reported.items()
    }
    assert lines == {
        "tools[0].config.top_k": "10",
        "tools[1].type": "11",
        "tools[2].type": "12",
        "strategy": "13",
        "titel": "14",
    }
    stored = (await heddle.client.get("/assistants/70")).json()
    assert [tool["type"] for tool in stored["tools"]] == ["simple_rag", "nope"]
    assert '"file":"file.yaml","line":10,"field":"tools[0].config.top_k"' in log()


async def test_imports_report_every_violation_and_refuse_nothing(heddle: Heddle) -> None:
    body = heddle.body(strategy="magic", **UNREADABLE)
    response = await heddle.client.post("/assistants/import", json=body)
    assert response.status_code == 201
    assert set(warnings(response)) >= {"strategy", "titel", "verbose", "tools[0].mode"}
    export = {"name": heddle.name(), "RAG_Top_k": 99, "RAG_collections": "1"}
    metadata = {**LAMB, "connector": "gone"}
    response = await heddle.client.post("/assistants/import", json={**export, "metadata": metadata})
    assert "metadata.connector" in warnings(response)
    assert response.json()["tools"][0]["config"]["top_k"] == 20


@pytest.mark.parametrize("text", ["not-json{", "[1, 2]", '{"_format_version": "x"}'])
async def test_malformed_rows_are_read_repaired_and_imported_again(
    heddle: Heddle, text: str
) -> None:
    number = heddle.legacy(text)
    path = f"/assistants/{number}"
    shown = (await heddle.client.get(path)).json()
    assert shown["malformed_metadata"] == text
    assert [each["field"] for each in shown["warnings"]] == ["metadata"]
    assert (await ask(heddle, number)).status_code == 422
    record = (await heddle.client.get(f"/creator/assistant/get_assistant/{number}")).json()
    assert record["metadata"] == text
    only_name = await heddle.client.put(f"{UPDATE}/{number}", json={"description": "x"})
    assert (only_name.status_code, heddle.metadata(number)) == (422, text)
    export = (await heddle.client.get(f"{path}/export")).json()
    name = heddle.name()
    copy = await heddle.client.post(f"/assistants/import?name={name}", json=export)
    assert copy.status_code == 201, copy.text
    assert heddle.metadata(int(copy.json()["id"])) == text
    # Either PUT repairs it.
    repaired = await heddle.client.put(path, json={**shown, "model": GOOD})
    assert warnings(repaired) == {}
    form = await heddle.client.put(f"{UPDATE}/{copy.json()['id']}", json={"metadata": LAMB})
    assert warnings(form) == {}
    for repaired_number in (number, copy.json()["id"]):
        assert (await ask(heddle, repaired_number)).status_code == 200
    export = (await heddle.client.get(f"{path}/export")).json()
    again = await heddle.client.post(f"/assistants/import?name={heddle.name()}", json=export)
    assert again.status_code == 201


async def ask(heddle: Heddle, assistant: object, **members: Any) -> httpx.Response:
    body = {
        "model": f"lamb_assistant.{assistant}",
        "messages": [{"role": "user", "content": "Hello"}],
        **members,
    }
    return await heddle.client.post("/v1/chat/completions", json=body)


async def test_rows_with_lambs_openai_tools_answer(heddle: Heddle) -> None:
    number = heddle.legacy(
        '{"prompt_processor": "simple_augment", "connector": "openai_tools", "llm": "m", '
        '"rag_processor": "no_rag"}'
    )
    for stream in (False, True):
        response = await ask(heddle, number, stream=stream)
        assert response.status_code == 200, response.text
        assert "error" not in response.text
    form = {"description": "x", "metadata": {**LAMB, "connector": "openai_tools", "llm": "m"}}
    edited = await heddle.client.put(f"{UPDATE}/{number}", json=form)
    assert warnings(edited) == {
        "metadata.connector": "is the deprecated name of the connector 'openai'"
    }
    created = await heddle.client.post(
        "/assistants", json=heddle.body(model={"connector": "openai_tools", "model": "m"})
    )
    assert set(warnings(created)) == {"model.connector"}
    assert (await ask(heddle, created.json()["id"])).status_code == 200


async def test_exports_have_the_tools_that_imports_store(heddle: Heddle) -> None:
    metadata = {**LAMB, "tools": ["weather", "moodle"]}
    form = {"name": heddle.name(), "metadata": metadata, "RAG_collections": "4, 7"}
    number = (await heddle.client.post(CREATE, json=form)).json()["assistant_id"]
    tools = (await heddle.client.get(f"/assistants/{number}")).json()["tools"]
    for path in (f"/assistants/{number}/export", f"/creator/assistant/export/{number}"):
        export = (await heddle.client.get(path)).json()
        copy = await heddle.client.post(f"/assistants/import?name={heddle.name()}", json=export)
        assert copy.json()["tools"] == tools
    assert [tool["type"] for tool in tools] == ["simple_rag", "weather", "moodle"]


@pytest.mark.parametrize("stream", [False, True])
async def test_tools_without_a_name_or_unknown_are_skipped_with_a_warning(
    heddle: Heddle,
    stream: bool,
) -> None:
    assistant = pb.Assistant(
        model=pb.ModelRef(**GOOD),
        tools=[
            pb.ToolBinding(),
            pb.ToolBinding(tool="nope"),
            pb.ToolBinding(tool="single_file", config=to_struct({"file_path": "missing.md"})),
        ],
    )
    run = orchestrator_pb2.RunCompletionRequest(assistant=assistant, include_trace=True)
    message = run.messages.add(role=chat_pb2.ROLE_USER)
    message.parts.add(text="Hello")
    address = f"127.0.0.1:{heddle.services.ports['heddle_orchestrator']}"
    async with grpc.aio.insecure_channel(address) as channel:
        orchestrator: Any = orchestrator_pb2_grpc.OrchestratorServiceStub(channel)
        if stream:
            call = orchestrator.RunCompletion(run, **new_call_options(30))
            events = [event async for response in call for event in response.events]
        else:
            whole = orchestrator_pb2.RunWholeCompletionRequest(run=run)
            response = await orchestrator.RunWholeCompletion(whole, **new_call_options(30))
            events = list(response.events)
    assert [each.warning.partition(",")[0] for each in events if each.warning] == [
        "A tool of this assistant has no name"
    ]
    finished = [each.tool_finished for each in events if each.HasField("tool_finished")]
    assert [each.tool for each in finished] == ["nope", "single_file"]
    assert "No tool is named 'nope'." in finished[0].error.message
    [trace] = [each.trace for each in events if each.HasField("trace")]
    assert [(step.name, step.error.reason) for step in trace.steps[:2]] == [
        ("tools[0]", "NOT_FOUND"),
        ("nope", "NOT_FOUND"),
    ]
    assert events[-1].HasField("done")


# Members of chat requests with values of a wrong type, and the fields that are named.
CHATS: dict[str, tuple[dict[str, Any], str]] = {
    "parallel_tool_calls": ({"parallel_tool_calls": {}}, "parallel_tool_calls"),
    "tool_choice": ({"tool_choice": 5}, "tool_choice"),
    "tool_choice.type": ({"tool_choice": {"type": 5}}, "tool_choice.type"),
    "stream_options": ({"stream_options": "x"}, "stream_options"),
    "include_usage": ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
    "logprobs": ({"logprobs": 1}, "logprobs"),
    "logit_bias": ({"logit_bias": {"5": "x"}}, "logit_bias.5"),
    "response_format": ({"response_format": "json"}, "response_format"),
    "json_schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": 5}}},
        "response_format.json_schema.name",
    ),
    "metadata": ({"metadata": "x"}, "metadata"),
    "user": ({"user": 5}, "user"),
    "store": ({"store": "x"}, "store"),
    "service_tier": ({"service_tier": 5}, "service_tier"),
    "reasoning_effort": ({"reasoning_effort": 5}, "reasoning_effort"),
    "modalities": ({"modalities": "text"}, "modalities"),
    "audio": ({"audio": "x"}, "audio"),
    "prediction": ({"prediction": "x"}, "prediction"),
    "web_search_options": ({"web_search_options": 1}, "web_search_options"),
    "temperature": ({"temperature": "1"}, "temperature"),
    "debug_bypass": ({"debug_bypass": "x"}, "debug_bypass"),
}
LENIENT = {
    "service_tier": "of the future",
    "reasoning_effort": "of the future",
    "tool_choice": "of the future",
    "parallel_tool_calls": None,
    "logprobs": None,
    "response_format": None,
    "user": {"id": "1", "name": "Ana"},
    "of_the_future": [1],
}


@pytest.mark.parametrize("stream", [False, True])
async def test_wrong_types_in_chat_requests_are_refused(heddle: Heddle, stream: bool) -> None:
    stored = await heddle.created()
    for members, field in CHATS.values():
        response = await ask(heddle, stored["id"], stream=stream, **members)
        assert (response.status_code, response.json()["error"]["param"]) == (400, field), members
    assert (await ask(heddle, stored["id"], stream=stream, **LENIENT)).status_code == 200


async def test_what_cannot_be_checked_is_stored_with_a_warning(heddle: Heddle) -> None:
    killed = {"heddle_tools_service": "tools", "heddle_orchestrator": "assistant"}
    started = time.monotonic()
    try:
        for module, field in killed.items():
            await asyncio.to_thread(heddle.services.kill, module)
            body = heddle.body(tools=[{"type": "nope"}])
            response = await heddle.client.post("/assistants", json=body)
            assert response.status_code == 201, response.text
            [description] = [text for name, text in warnings(response).items() if name == field]
            assert description.startswith("not checked")
        form = {"name": heddle.name(), "metadata": {**LAMB, "connector": "gone"}}
        assert warnings(await heddle.client.post(CREATE, json=form))
        assert time.monotonic() - started < 20
    finally:
        for module in killed:
            await asyncio.to_thread(heddle.services.restart, module)
