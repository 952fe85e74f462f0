"""The main job from end to end: HTTP in, tools, prompt, provider, HTTP out."""

import json
import time
from pathlib import Path
from typing import Any

import openai
import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.knowledge.v1 import knowledge_pb2, knowledge_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_gateway.auth.authenticator import DEVELOPMENT_KEY
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from integration.browser import browser
from integration.provider import providing
from integration.whole import Transport, whole, write_assistant

CONTRACT = pb.DESCRIPTOR.services_by_name["OrchestratorService"]
GOLDEN = Path(__file__).parents[1] / "golden" / "tools"
ECHO = "model: {connector: bypass, model: simple-bypass}\n"
SLEEPER = """
import asyncio
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field

class SleeperConfig(ToolConfig):
    text: str = Field(default="", description="What is found.")
    seconds: float = Field(default=0.05, description="How long it takes.")

@tool("sleeper", title="Sleeper", slot="sleeper")
async def sleeper(call: ToolCall[SleeperConfig]) -> ToolResult:
    \"\"\"Finds a text after a while.\"\"\"
    call.status("sleeping")
    await asyncio.sleep(call.config.seconds)
    return ToolResult(call.config.text)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "sleeper.py").write_text(SLEEPER)
    return tmp_path


def body(assistant: str, words: str, **more: Any) -> dict[str, Any]:
    return {"model": assistant, "messages": [{"role": "user", "content": words}], **more}


@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_a_tool_in_a_mounted_folder_is_listed_and_fills_a_prompt(
    folder: Path, transport: Transport
) -> None:
    write_assistant(
        folder,
        "1",
        f"{ECHO}prompt_template: '<{{sleeper}}> {{user_input}}'\n"
        "tools: [{type: sleeper, config: {text: found}}]\n",
    )
    async with whole(folder, transport) as heddle, browser(heddle.url) as client:
        tools = (await client.get("/lamb/v1/completions/tools")).json()["tools"]
        answer = await client.post("/v1/chat/completions", json=body("lamb_assistant.1", "why?"))

    listed = next(tool for tool in tools if tool["name"] == "sleeper")
    assert listed["placeholder"] == "sleeper"
    assert listed["config_schema"]["properties"]["seconds"]["default"] == 0.05
    content = answer.json()["choices"][0]["message"]["content"]
    assert content == "<\n\nfound\n\n> \n\nwhy?\n\n"


async def test_builtin_tools_are_described_as_in_their_golden_files(folder: Path) -> None:
    async with whole(folder) as heddle, browser(heddle.url) as client:
        for name in ("simple_rag", "rubric", "single_file"):
            tool = (await client.get(f"/lamb/v1/completions/tools/{name}")).json()
            assert {*tool.pop("connectors")} == {*tool["modes"]}
            golden = json.loads((GOLDEN / f"{name}.json").read_text())
            functions = [
                {"parameters": function.pop("parameters_schema_json"), **function}
                for function in golden["functions"]
            ]
            assert tool == {
                **{
                    key: golden[key]
                    for key in ("name", "label", "description", "category", "version")
                },
                "display_name": golden["title"],
                "placeholder": golden["default_slot"],
                "config_schema": golden["config_schema_json"],
                "modes": [mode.removeprefix("MODE_").lower() for mode in golden["modes"]],
                "function_name": golden["functions"][0]["name"],
                "effect": golden["effect"].removeprefix("TOOL_EFFECT_").lower(),
                "functions": [{"type": "function", "function": each} for each in functions],
            }


@pytest.mark.exhaustive
@pytest.mark.alone
async def test_eight_tools_of_50_ms_take_at_most_a_third_more(folder: Path) -> None:
    tools = [
        assistant_pb2.ToolBinding(tool="sleeper", slot=f"slot_{number}") for number in range(8)
    ]
    message = chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=[chat_pb2.ContentPart(text="?")])

    def request(bound: list[assistant_pb2.ToolBinding]) -> pb.RunCompletionRequest:
        model = assistant_pb2.ModelRef(connector="bypass", model="simple-bypass")
        assistant = assistant_pb2.Assistant(model=model, tools=bound)
        return pb.RunCompletionRequest(assistant=assistant, messages=[message])

    async with whole(folder) as heddle, channel(heddle.stack.orchestrator, CONTRACT) as to:
        stub = pb_grpc.OrchestratorServiceStub(to)

        async def seconds(asked: pb.RunCompletionRequest) -> float:
            started = time.perf_counter()
            [response async for response in stub.RunCompletion(asked, **new_call_options(10))]
            return time.perf_counter() - started

        with_tools, model_only = [], []
        for _ in range(8):
            with_tools.append(await seconds(request(tools)))
            model_only.append(await seconds(request([])))

    # The best of several: a busy neighbour can only make it slower.
    assert min(with_tools) <= 1.3 * 0.05 + min(model_only)


TRAPS = ["{context}", "{rubric}", "{user_input}", "{sleeper}", "f'{x}'", "{{y}}", "\\n", "\n", "é"]


async def test_text_of_people_and_tools_arrives_byte_for_byte(folder: Path) -> None:
    write_assistant(
        folder,
        "2",
        f"{ECHO}prompt_template: '<{{sleeper}}>{{user_input}}'\n"
        "tools: [{type: sleeper, config: {text: 'see {rubric} {user_input} {x}', seconds: 0}}]\n",
    )
    async with whole(folder) as heddle, browser(heddle.url) as client:
        for said in [*TRAPS, "".join(TRAPS), "def f():\n    return {'a': 1}\n", "\u2028\x7f{0}"]:
            answer = await client.post("/v1/chat/completions", json=body("2", said))
            text = answer.json()["choices"][0]["message"]["content"]
            assert text == f"<\n\nsee {{rubric}} {{user_input}} {{x}}\n\n>\n\n{said}\n\n"


@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_the_openai_sdk_completes_and_streams(
    folder: Path, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with providing() as provider:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
        write_assistant(
            folder,
            "3",
            "model: {connector: openai, model: quick}\n"
            "tools: [{type: word_count}]\nprompt_template: '{word_count}{user_input}'\n",
        )
        async with (
            whole(folder, transport) as heddle,
            openai.AsyncOpenAI(
                base_url=f"{heddle.url}/v1", api_key=DEVELOPMENT_KEY, max_retries=0
            ) as client,
        ):
            models = [model.id async for model in client.models.list()]
            asked: list[Any] = [{"role": "user", "content": "hello there"}]
            answer = await client.chat.completions.create(
                model="lamb_assistant.3",
                messages=asked,
                temperature=0.5,
                extra_body={"vendor_option": {"kept": [1, 2]}},
            )
            stream = await client.chat.completions.create(
                model="lamb_assistant.3",
                messages=asked,
                stream=True,
                stream_options={"include_usage": True},
            )
            chunks = [chunk async for chunk in stream]

    assert models == ["lamb_assistant.file-3"]
    assert answer.choices[0].message.content == "Hello from the provider."
    assert answer.usage is not None
    assert answer.usage.total_tokens == 8
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "".join(f"{number} " for number in range(20))
    assert chunks[-1].usage is not None
    assert provider.bodies[0]["vendor_option"] == {"kept": [1, 2]}
    assert provider.bodies[0]["temperature"] == 0.5
    prompt = provider.bodies[0]["messages"][-1]["content"]
    assert prompt == "\n\nThe message has 2 words.\n\n\n\nhello there\n\n"


async def test_a_request_without_template_reaches_the_provider_unchanged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u", "name": "ann"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "7"},
        ],
        "temperature": 0.25,
        "max_tokens": 5,
        "seed": 9_007_199_254_740_993,
        "tools": [
            {
                "type": "function",
                "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
            }
        ],
        "tool_choice": "auto",
        "metadata": {"a": "b"},
        "logit_bias": {"42": -1},
    }
    async with providing() as provider:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
        write_assistant(folder, "4", "model: {connector: openai, model: quick}\n")
        async with whole(folder) as heddle, browser(heddle.url) as client:
            answer = await client.post("/v1/chat/completions", json={"model": "4", **sent})

    assert answer.status_code == 200
    received = {k: v for k, v in provider.bodies[0].items() if v is not None and k != "stream"}
    assert received == {"model": "quick", **sent}


async def test_statuses_come_before_the_first_word_and_sources_reach_the_client(
    folder: Path,
) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "notes.md").write_text("Notes.")
    write_assistant(
        folder,
        "5",
        f"{ECHO}prompt_template: '{{file}}'\n"
        "tools: [{type: single_file, config: {file_path: notes.md}}]\n",
    )
    async with whole(folder) as heddle, browser(heddle.url) as client:
        asked = body("5", "?", stream=True)
        answer = await client.post("/v1/chat/completions", json=asked)

    chunks = [
        json.loads(line.removeprefix("data: "))
        for line in answer.text.splitlines()
        if line.startswith("data: {")
    ]
    kinds = [
        chunk["event"]["type"]
        if "event" in chunk
        else ("text" if chunk["choices"][0]["delta"].get("content") else "other")
        for chunk in chunks
    ]
    said = [chunk["event"]["data"].get("description") for chunk in chunks if "event" in chunk]
    assert "reading file notes.md" in said
    assert "merging tool outputs" in said
    assert "source" in kinds
    assert max(i for i, kind in enumerate(kinds) if kind == "status") < kinds.index("text")
    assert answer.text.rstrip().endswith("data: [DONE]")


@pytest.mark.exhaustive
async def test_a_default_collection_is_searched_beside_one_of_another_tool(folder: Path) -> None:
    write_assistant(
        folder,
        "1",
        f"{ECHO}prompt_template: '<{{manual}}> <{{context}}>'\n"
        "tools: [{type: fast_vector_search, slot: manual},"
        " {type: simple_rag, config: {collections: [looms]}}]\n",
    )
    async with whole(folder) as running:
        async with channel(running.stack.knowledge) as to_knowledge:
            knowledge = knowledge_pb2_grpc.KnowledgeServiceStub(to_knowledge)
            for name, text in (("AssetManual", b"Valves are red."), ("looms", b"Threads part.")):
                collection = knowledge_pb2.Collection(name=name)
                await knowledge.CreateCollection(
                    knowledge_pb2.CreateCollectionRequest(collection=collection),
                    **new_call_options(30),
                )
                document = knowledge_pb2.IngestDocumentRequest(
                    collection=name, name="a.txt", data=text
                )
                [_ async for _ in knowledge.IngestDocument(document, **new_call_options(60))]
        async with browser(running.url, timeout=60) as client:
            answer = await client.post("/v1/chat/completions", json=body("1", "Valves or threads?"))

    content = answer.json()["choices"][0]["message"]["content"]
    assert "Valves are red." in content
    assert "Threads part." in content
