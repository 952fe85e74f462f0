"""The service as it is put together: settings, both contracts, one process."""

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from heddle.knowledge.v1 import knowledge_pb2, knowledge_pb2_grpc
from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc
from heddle_knowledge.settings import KnowledgeSettings
from heddle_migration_service.searches.settings import SearchSettings
from heddle_runtime.errors import UnavailableError
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Running, running
from heddle_runtime.settings.service import describe, read
from heddle_tools_service.app import ToolsSettings, app
from knowledge.kb_server import hit, kb_server
from pydantic import ValidationError
from pydantic_settings import BaseSettings
from tools_service.services import services
from tools_service.serving import Client, said, text_of

GOLDEN = Path(__file__).parents[1] / "golden" / "tools"
PLUGIN = '''
import httpx
from heddle_tools_service.sdk import ToolResult, tool

@tool("fetch", title="Fetch", slot="fetched", effect="read_only")
async def fetch(call, http: httpx.AsyncClient):
    """Asks a server that sets a cookie and redirects."""
    first = await http.get(call.query)
    await http.get(call.query)
    return ToolResult(str(first.status_code))
'''


def settings(folder: Path, **more: object) -> ToolsSettings:
    return ToolsSettings(
        listen="127.0.0.1:0",
        drain_wait=0,
        files_dir=folder / "files",
        rubrics_dir=folder / "rubrics",
        **more,  # type: ignore[arg-type] # each test its own
    )


@asynccontextmanager
async def serving(configured: ToolsSettings) -> AsyncGenerator[tuple[Client, Running]]:
    async with (
        running(app(configured), configured) as service,
        channel(service.address) as connection,
    ):
        await connection.channel_ready()
        yield Client(tool_pb2_grpc.ToolServiceStub(connection)), service


async def test_a_document_reaches_a_tool_through_both_services(tmp_path: Path) -> None:
    async with services(tmp_path, assistants_address="none") as both:
        knowledge = both.knowledge_stub
        made = knowledge_pb2.Collection(name="looms")
        await knowledge.CreateCollection(
            knowledge_pb2.CreateCollectionRequest(collection=made), **new_call_options(30)
        )
        request = knowledge_pb2.IngestDocumentRequest(
            collection="looms", name="shed.md", data=b"A shed is the gap between threads."
        )
        [_ async for _ in knowledge.IngestDocument(request, **new_call_options(60))]
        _, result = await both.client.run(
            "simple_rag", {"collections": ["looms"]}, said("What is a shed?"), seconds=60
        )

    assert text_of(result) == "A shed is the gap between threads."
    assert not result.warnings


async def test_the_service_answers_in_its_own_process_alike(tmp_path: Path) -> None:
    async with serving(settings(tmp_path)) as (client, service):
        local = Client(tool_pb2_grpc.ToolServiceStub(service.local))
        over_wire = await client.run("word_count", {}, said("one two"))
        in_process = await local.run("word_count", {}, said("one two"))

    for _, result in (over_wire, in_process):
        result.ClearField("elapsed")
    assert over_wire == in_process
    assert text_of(in_process[1]) == "The message has 2 words."


async def test_a_server_of_the_settings_is_asked_with_its_token(tmp_path: Path) -> None:
    async with kb_server() as server:
        server.answers = {"1": {"results": [hit("found")]}}
        configured = {"kb_url": f"{server.url}/", "kb_token": "t-1", "assistants_address": "none"}
        async with services(tmp_path, **configured) as both:
            _, result = await both.client.run("simple_rag", {"collections": ["1"]}, said("?"))

    assert text_of(result) == "found"
    assert server.headers[0]["Authorization"] == "Bearer t-1"
    assert server.paths == ["/collections/1/query"]


@pytest.mark.exhaustive
async def test_answers_of_servers_that_are_too_large_together_leave_out_the_last(
    tmp_path: Path,
) -> None:
    names = [f"{number}" for number in range(5)]
    async with kb_server() as server:
        server.answers = {name: {"results": [hit(name + "x" * 7_500_000)]} for name in names}
        async with (
            services(tmp_path, kb_url=server.url, assistants_address="none") as both,
            channel(both.knowledge.address) as to_knowledge,
        ):
            stub = knowledge_pb2_grpc.KnowledgeServiceStub(to_knowledge)
            request = knowledge_pb2.SearchCollectionsRequest(collections=names, query="?")
            response = await stub.SearchCollections(request, **new_call_options(30))

    *results, left_out = response.results
    assert [result.passages[0].text[0] for result in results] == names[:4]
    assert left_out.error.message == "the passages of all collections are too large together"


async def test_tools_share_no_cookies_and_follow_no_redirects(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "fetch.py").write_text(PLUGIN)
    async with kb_server() as server:
        server.answers = {"1": f"{server.url}/elsewhere"}
        configured = settings(
            tmp_path, plugins_dir=tmp_path / "plugins", private_networks=["127.0.0.0/8"]
        )
        async with serving(configured) as (client, _):
            _, result = await client.run("fetch", {}, said(f"{server.url}/collections/1"))

    assert text_of(result) == "307"
    assert all("Cookie" not in headers for headers in server.headers)
    assert server.paths == ["/collections/1", "/collections/1"]


async def test_a_plugin_of_the_mounted_folder_is_listed(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "fetch.py").write_text(PLUGIN)
    async with serving(settings(tmp_path, plugins_dir=plugins)) as (client, _):
        listed = await client.stub.ListTools(
            pb.ListToolsRequest(page_size=200), **new_call_options(5)
        )

    isolations = {tool.name: tool.isolation for tool in listed.tools}
    assert isolations["fetch"] == pb.TOOL_ISOLATION_PROCESS
    assert isolations["word_count"] == pb.TOOL_ISOLATION_SERVICE


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_TOOLS_PLUGINS_DIR", "/plugins")
    monkeypatch.setenv("HEDDLE_TOOL_TIMEOUT_SECONDS", "7")
    monkeypatch.setenv("HEDDLE_KNOWLEDGE_KB_TOKEN", "s3cr3t")
    monkeypatch.delenv("HEDDLE_TOOLS_LISTEN")

    configured = read(ToolsSettings, [])

    assert "s3cr3t" not in repr(read(SearchSettings, []))
    assert configured.plugins_dir == Path("/plugins")
    assert configured.tool_timeout_seconds == 7
    assert configured.listen == "127.0.0.1:9102"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (ToolsSettings, "HEDDLE_TOOLS_PLUGINS_DIR"),
        (KnowledgeSettings, "HEDDLE_KNOWLEDGE_VLM_MODEL"),
    ],
)
def test_every_setting_is_described(kind: type[BaseSettings], name: str) -> None:
    described = describe(kind)

    assert f"{name}\n" in described
    assert "HEDDLE_PROVIDERS\n" in described
    assert "None" not in described
    assert all(field.description for field in kind.model_fields.values())


@pytest.mark.parametrize(
    "url", ["ftp://x", "kb:9090", "http://", "http://u:p@kb", "http://kb?x=1", "file:///etc"]
)
def test_an_address_that_cannot_be_one_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SearchSettings(kb_url=url)

    assert all(url not in error["msg"] for error in caught.value.errors())


@pytest.mark.parametrize("model", ["smollm2", "/x", "local/"])
def test_a_model_needs_a_connector(model: str) -> None:
    with pytest.raises(ValidationError):
        ToolsSettings(small_fast_model=model)


def test_hashes_of_files_need_the_sandbox_that_compares_them() -> None:
    hashes = {"one.py": "0" * 64}
    with pytest.raises(ValidationError, match="checks no files: set it to auto"):
        ToolsSettings(sandbox="off", plugin_hashes=hashes)
    assert ToolsSettings(sandbox="auto", plugin_hashes=hashes).plugin_hashes == hashes


async def test_the_list_names_every_tool(tmp_path: Path) -> None:
    async with serving(settings(tmp_path)) as (client, _):
        listed = await client.stub.ListTools(pb.ListToolsRequest(), **new_call_options(5))

    assert {tool.name for tool in listed.tools} == {golden.stem for golden in GOLDEN.iterdir()}
    assert not listed.problems


async def test_a_store_that_cannot_be_opened_ends_nothing_but_its_own_calls(
    tmp_path: Path,
) -> None:
    (tmp_path / "knowledge").mkdir()
    (tmp_path / "knowledge" / "locks").write_text("in the way")
    async with services(tmp_path, assistants_address="none") as both:
        client = both.client
        _, result = await client.run("word_count", {}, said("one two"))
        with pytest.raises(UnavailableError, match="cannot be made or written"):
            await client.run("simple_rag", {"collections": ["a"]}, said("?"))

    assert text_of(result) == "The message has 2 words."


@pytest.mark.exhaustive
def test_who_keeps_no_documents_never_pays_for_the_engine() -> None:
    script = (
        "import sys, heddle_tools_service.__main__; "
        "raise SystemExit(any(name in sys.modules for name in ('numpy', 'pyarrow', 'lancedb')))"
    )
    for service in ("heddle_tools_service", "heddle_knowledge"):
        own = script.replace("heddle_tools_service", service)
        run = subprocess.run([sys.executable, "-c", own], check=False, timeout=100)  # noqa: S603 - our own
        assert run.returncode == 0
