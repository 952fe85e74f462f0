"""A plugin that uses capabilities for two people, each of whom has private things."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from gateway.essays import EXAMPLE
from heddle.assistant.v1 import assistant_pb2
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.callers import Identity
from integration.functions.upstream import Body, Delta, calls, says, scripted
from knowledge.store.making import pdf
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent
from threats.other_servers import other_servers
from threats.tenants import COLLEAGUE, MEMBER, OWNER, Form, Tenants, tenants
from tools_service.moodle_site import course, moodle_site

PLUGIN = '''
import asyncio, json, os
import httpx
from heddle_tools_service.capabilities.document_queries import DocumentQueries
from heddle_tools_service.capabilities.files import Files
from heddle_tools_service.capabilities.graph import Graph
from heddle_tools_service.capabilities.moodle import Moodle
from heddle_tools_service.capabilities.pages import Pages
from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.capabilities.rubrics import Rubrics
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.capabilities.weather import Weather
from heddle_tools_service.capabilities.web_search import WebSearch
from heddle_tools_service.capabilities.workspace import Area, Edit, FileEdits, Workspace
from heddle_tools_service.sdk import (
    ToolArguments, ToolCall, ToolConfig, ToolError, ToolResult, tool
)

class Named(ToolConfig):
    collection: str = ""
    rubric: str = ""
    file: str = ""
    server: str = ""

class Arguments(ToolArguments):
    collection: str = ""
    rubric: str = ""
    file: str = ""
    server: str = ""

async def all_of(
    named, call, passages, queries, graph, files, rubrics, workspace, pages, moodle, weather, web,
    model, http,
):
    word = "canary of " + call.caller.subject.partition("@")[0]

    async def passage():
        results = await passages.search([named.collection], "What is a shed?", top_k=2)
        return [each.text for each in results.passages] or [str(each) for each in results.failures]

    async def documents():
        tables = await queries.describe([named.collection])
        return tables.documents or [str(each) for each in tables.failures]

    async def themes():
        results = await graph.themes([named.collection], max_results=2)
        return [str(each) for each in results.failures]

    async def file():
        return (await files.read(named.file, 1000)).text

    async def rubric():
        known = await rubrics.get(named.rubric)
        return known.title if known else "no rubric"

    async def page():
        found = await pages.search([named.collection], "What is a shed?", top_k=1)
        if not found.pages:
            return [str(each) for each in found.failures]
        return [found.pages[0].text, (await pages.interpret(found.pages[0], "?")).text]

    async def note():
        return list((await workspace.page(Area("notes"), "notes/own.txt")).lines)

    async def courses():
        return [each.name for each in await moodle.courses()]

    async def weather_():
        return (await weather.now(word)).place

    async def web_():
        return [each.title for each in (await web.search(word, max_results=1)).results]

    async def model_():
        return await model.generate(word)

    async def http_():
        return (await http.post(named.server + "/echo", content=word)).text

    seen = {}
    for capability in (
        passage, documents, themes, file, rubric, page, note, courses, weather_, web_, model_, http_
    ):
        try:
            seen[capability.__name__] = await capability()
        except ToolError as error:
            seen[capability.__name__] = f"refused: {error}"
    return ToolResult(json.dumps(seen))

@tool("looks", title="Looks", modes=("augment", "agent"), effect="read_only")
async def looks(
    call: ToolCall[Named], passages: Passages, queries: DocumentQueries, graph: Graph,
    files: Files, rubrics: Rubrics, workspace: Workspace, pages: Pages, moodle: Moodle,
    weather: Weather, web: WebSearch, model: SmallModel, http: httpx.AsyncClient,
):
    """Looks at weaving sheds."""
    return await all_of(
        call.config, call, passages, queries, graph, files, rubrics, workspace, pages, moodle,
        weather, web, model, http,
    )

@tool("sees", title="Sees", modes=("function",), effect="read_only")
async def sees(
    call: ToolCall[None, Arguments], passages: Passages, queries: DocumentQueries, graph: Graph,
    files: Files, rubrics: Rubrics, workspace: Workspace, pages: Pages, moodle: Moodle,
    weather: Weather, web: WebSearch, model: SmallModel, http: httpx.AsyncClient,
):
    """Looks at things."""
    return await all_of(
        call.arguments, call, passages, queries, graph, files, rubrics, workspace, pages, moodle,
        weather, web, model, http,
    )

@tool("writes", title="Writes", modes=("augment",))
async def writes(call, workspace: Workspace):
    """Writes the question to a file."""
    text = call.query + "\\n"
    made = FileEdits("notes/own.txt", (Edit(text, ""),), create=True)
    await workspace.patch(Area("notes"), [made])
    return ToolResult("written")

@tool("ends", title="Ends", modes=("augment",))
async def ends(call):
    """Ends its process."""
    os._exit(7)
'''
PEOPLE = (OWNER, COLLEAGUE)
CALLERS_OWN = ("note", "courses", "weather_", "web_", "model_", "http_")
"""The capabilities that name no thing: they show something of the caller, whatever is named."""
OWN = ("passage", "documents", "file", "rubric", "page", *CALLERS_OWN)
"""The capabilities that show something of a person."""
REFUSED = ("passage", "documents", "themes", "file", "rubric", "page")
"""The capabilities that name a thing, which may be another person's."""
_DOCUMENTS = 2
_MODEL = assistant_pb2.ModelRef(connector="openai", model="scripted")


@dataclass(frozen=True)
class TwoPeople:
    """A running Heddle, and what the tool must name to see the things of each person."""

    heddle: Tenants
    named: Mapping[Identity, Mapping[str, str]]

    async def run(
        self, person: Identity, tool: str, things: Mapping[str, str], **body: Any
    ) -> dict[str, Any]:
        """Run a tool alone, and return what it sees."""
        path = f"/tools/{tool}/run"
        body = {"config": things} | body
        response = await self.heddle.request(person, "POST", path, json=body)
        assert response.status_code == 200, response.text
        return _json_in(response.json()["text"])

    async def by_slot(
        self, person: Identity, things: Mapping[str, str], owner: Identity | None = None
    ) -> dict[str, Any]:
        """Return what the tool of an assistant sees, which is the person's own by default."""
        return await self._chat(person, {"type": "looks", "config": dict(things)}, owner)

    async def by_agent(
        self, person: Identity, things: Mapping[str, str], owner: Identity | None = None
    ) -> dict[str, Any]:
        """Return what the routing agent's tool sees."""
        tool = {"type": "looks", "config": dict(things), "mode": assistant_pb2.MODE_AGENT}
        return await self._chat(person, tool, owner, strategy="agent_rules")

    async def by_function(
        self, person: Identity, things: Mapping[str, str], owner: Identity | None = None
    ) -> dict[str, Any]:
        """Return what a tool sees that the model calls."""
        tool = {"type": "sees", "config": {}, "mode": assistant_pb2.MODE_FUNCTION}
        question = json.dumps(dict(things))
        return await self._chat(person, tool, owner, question=question, model=_MODEL)

    async def by_itself(self, person: Identity, things: Mapping[str, str]) -> dict[str, Any]:
        """Return what a tool sees that runs without an assistant."""
        return await self.run(person, "looks", things)

    async def by_mcp(self, person: Identity, things: Mapping[str, str]) -> dict[str, Any]:
        """Return what a tool sees that an MCP client calls."""
        headers = {"authorization": f"Bearer {self.heddle.keys[person]}"}
        url = f"{str(self.heddle.client.base_url).rstrip('/')}/mcp"
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            result = await client.call_tool("sees", dict(things))
        [text] = [part.text for part in result.content if isinstance(part, TextContent)]
        return _json_in(text)

    async def _chat(
        self,
        person: Identity,
        tool: dict[str, Any],
        owner: Identity | None,
        question: str = "Look at weaving sheds.",
        **more: Any,
    ) -> dict[str, Any]:
        members: dict[str, Any] = {"prompt_template": "{context}\n{user_input}"} | more
        members["published"] = owner is not None
        name = f"reader_{uuid4().hex}"
        number = await self.heddle.assistant(owner or person, name, tool, **members)
        answers = []
        for stream in (False, True):
            response = await self.heddle.ask(person, number, stream=stream, question=question)
            assert response.status_code == 200, response.text
            answers.append(_json_in(_content(response.text, stream=stream)))
        assert answers[0] == answers[1]
        return answers[0]


def canary(person: Identity) -> str:
    """Return the text that is in all things of a person."""
    return f"canary of {person.subject.partition('@')[0]}"


def faults(way: str, caller: Identity, owner: Identity, seen: Mapping[str, Any]) -> list[str]:
    """Return what the caller sees and must not, or must see and does not.

    Args:
        way: How the tool is called.
        caller: Who calls it.
        owner: Whose things the call names.
        seen: What each capability returns.
    """
    wrong = [
        f"{way}: {capability} fails: {answer}"
        for capability, answer in seen.items()
        if str(answer).endswith("failed.")
    ]
    others = [canary(each) for each in PEOPLE if each is not caller]
    for capability, answer in seen.items():
        if any(other in str(answer) for other in others):
            wrong.append(f"{way}: {caller.subject} sees a foreign {capability}: {answer}")
    for capability in OWN if caller is owner else CALLERS_OWN:
        own = str(_DOCUMENTS) if capability == "documents" else canary(caller)
        if own not in str(seen[capability]):
            wrong.append(f"{way}: {caller.subject} misses the own {capability}: {seen[capability]}")
    unrefused = [each for each in REFUSED if caller is not owner and seen[each] in (_DOCUMENTS, [])]
    wrong += [f"{way}: {caller.subject} is not refused a foreign {each}" for each in unrefused]
    return wrong


def faults_of_member(way: str, seen: Mapping[str, Any]) -> list[str]:
    """Return what a member misses, or must not see, in the answer of the owner's assistant."""
    expected = dict.fromkeys(("passage", "file", "rubric", "page"), canary(OWNER))
    expected |= dict.fromkeys(set(CALLERS_OWN) - {"note"}, canary(MEMBER))
    wrong = [
        f"{way}: a member misses {capability}: {seen[capability]}"
        for capability, own in expected.items()
        if own not in str(seen[capability])
    ]
    # The files of a workspace are the caller's, and a member has written none.
    foreign = canary(COLLEAGUE) in str(seen) or "canary" in str(seen["note"])
    return [*wrong, *([f"{way}: a member sees what is foreign: {seen}"] if foreign else [])]


@asynccontextmanager
async def two_people(
    folder: Path, environment: pytest.MonkeyPatch, form: Form, sandbox: str = "auto"
) -> AsyncGenerator[TwoPeople]:
    """Serve the plugin to two people of an organisation."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / "own.py").write_text(PLUGIN)
    for person in PEOPLE:
        notes = folder / "files" / person.subject / "notes.md"
        notes.parent.mkdir(parents=True)
        notes.write_text(canary(person))
    environment.setenv("HEDDLE_TOOLS_SANDBOX", sandbox)
    environment.setenv(SETTING, "127.0.0.0/8")
    accounts = {each.subject: [number] for number, each in enumerate((*PEOPLE, MEMBER), 1)}
    async with (
        scripted(_calls_the_tool) as upstream,
        other_servers() as others,
        moodle_site(users=accounts) as moodle,
    ):
        for number, person in enumerate((*PEOPLE, MEMBER), 1):
            moodle.courses[number] = [course(number, canary(person))]
        environment.setenv("HEDDLE_TOOLS_SMALL_FAST_MODEL", "openai/small")
        environment.setenv("HEDDLE_TOOLS_WEATHER_URL", others)
        environment.setenv("HEDDLE_TOOLS_GEOCODING_URL", others)
        environment.setenv("HEDDLE_TOOLS_WEB_SEARCH_SEARXNG_URL", others)
        environment.setenv("HEDDLE_TOOLS_WEB_SEARCH_SHARED", "true")
        environment.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
        environment.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
        environment.setenv("HEDDLE_CONNECTOR_SHARE_PROVIDERS", "true")
        settings = {"moodle": {"url": moodle.url, "token": moodle.token}}
        async with tenants(folder, environment, form, settings) as heddle:
            named = {
                person: await _things_of(heddle, person) | {"server": others} for person in PEOPLE
            }
            people = TwoPeople(heddle, named)
            for person in PEOPLE:
                path = "/tools/writes/run"
                body = {"question": canary(person)}
                written = await heddle.request(person, "POST", path, json=body)
                assert written.status_code == 200, written.text
            yield people


async def _things_of(heddle: Tenants, person: Identity) -> dict[str, str]:
    content = EXAMPLE | {"title": canary(person)}
    rubric = await heddle.create(person, "/rubrics", json={"public": False, "content": content})
    store = await heddle.create(
        person, "/v1/vector_stores", json={"name": "looms", "page_handling": "search"}
    )
    text = f"A shed is a gap. {canary(person)}"
    for name, data in (("shed.md", text.encode()), ("shed.pdf", pdf(text))):
        await _attach(heddle, person, f"/v1/vector_stores/{store}/files", (name, data))
    return {"rubric": rubric, "collection": store, "file": f"{person.subject}/notes.md"}


async def _attach(heddle: Tenants, person: Identity, path: str, upload: tuple[str, bytes]) -> None:
    data = {"purpose": "assistants"}
    file = await heddle.create(person, "/v1/files", files={"file": upload}, data=data)
    await heddle.create(person, path, json={"file_id": file})
    async with asyncio.timeout(60):
        while (await heddle.request(person, "GET", f"{path}/{file}")).json()[
            "status"
        ] != "completed":
            await asyncio.sleep(0.02)


def _calls_the_tool(body: Body) -> Sequence[Delta]:
    last = body["messages"][-1]
    if last["role"] == "tool" or body["model"] == "small":
        return [says(last["content"])]
    return [calls("sees", "{" + last["content"].partition("{")[2])]


def _content(text: str, *, stream: bool) -> str:
    if not stream:
        return str(json.loads(text)["choices"][0]["message"]["content"])
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    chunks = [json.loads(line) for line in lines if line != "[DONE]"]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


def _json_in(text: str) -> dict[str, Any]:
    """Return the tool's result, which other text may surround."""
    begin = text.find('{"passage"')
    assert begin >= 0, text
    members, _ = json.JSONDecoder().raw_decode(text[begin:])
    return dict(members)
