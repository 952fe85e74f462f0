"""Settings and requests at their edges, through the gateway, with a process for each service.

Each row asks an assistant, streamed and whole, and checks both answers.
"""

import asyncio
import base64
import json
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
import yaml
from docs.shell import run
from heddle_runtime.http.egress import SETTING
from integration import commands
from integration.answers import Answer
from integration.browser import browser
from integration.edge_plugins import BROKEN, CLOSED_TOOL, LEAKY, NEVER_CALLED, SLEEPY
from integration.functions.upstream import Body, Delta, Upstream, scripted
from integration.processes import GATEWAY, MODULES, Processes, processes
from integration.whole import write_assistant
from tools_service.search_sites import SearchSites, search_sites

pytestmark = pytest.mark.asyncio(loop_scope="module")
_LINES = re.MULTILINE | re.DOTALL
KEY = "key-of-the-right-organisation"
QUESTION = "What is a shed?"
ANSWER = "A shed is a gap"
PATH = "/v1/chat/completions"
PASSTHROUGH = "model: {connector: openai, model: m}\n"
BYPASS = "model: {connector: bypass, model: full-conversation-bypass}\n"
SEARCHING = f"{BYPASS}tools: [{{type: web_search}}]\nprompt_template: '{{web}}{{user_input}}'\n"
OFFERING = f"{PASSTHROUGH}tools: [{{type: web_search, mode: function}}]\n"
LOOK_UP = {"name": "look_up", "parameters": {"type": "object"}}
PDF = b"%PDF-1.4 sheds"
OPAQUE = "blue-sheep-of-the-hill"
SINKS = ("output", "status", "error", "exception", "library")
LEAKING = {
    "model": {"connector": "bypass", "model": "full-conversation-bypass"},
    "tools": [
        {"type": "leaky", "id": sink, "config": {"token": OPAQUE, "sink": sink}} for sink in SINKS
    ],
    "prompt_template": "".join(f"{{{sink}}}" for sink in SINKS),
}
ISOLATED = f"""{BYPASS}tools: [{{type: broken}}, {{type: word_count}}]
prompt_template: '{{broken}}{{word_count}}{{user_input}}'
"""
MISSING = f"""{BYPASS}strategy: agent_rules
tools:
  - type: fast_vector_search
    mode: agent
    timeout: 40
    config: {{collections: [no-such-manual]}}
"""
ORDERED = f"""{BYPASS}tools:
  - {{type: sleepy, id: slow}}
  - {{type: word_count, id: quick}}
prompt_template: '{{slow}}{{quick}}{{word_count}}{{user_input}}'
"""
CLOSED = f"{BYPASS}strategy: agent_rules\ntools: [{{type: closed, mode: agent}}]\n"
WHOLE = f"""{BYPASS}strategy: agent_rules
tools:
  - {{type: fast_vector_search, mode: agent, config: {{collections: [looms]}}}}
  - {{type: query_documents_metadata, mode: agent, config: {{collections: [looms]}}}}
  - {{type: graph_search, mode: agent, config: {{collections: [looms]}}}}
"""
ASSISTANTS = (
    SEARCHING,
    OFFERING,
    PASSTHROUGH,
    yaml.safe_dump(LEAKING),
    ISOLATED,
    MISSING,
    ORDERED,
    CLOSED,
    WHOLE,
)


@dataclass
class Heddle:
    """All services, in a process each, with two organisations, a provider and search servers."""

    services: Processes
    upstream: Upstream
    sites: SearchSites
    keys: dict[str, str] = field(default_factory=dict)
    """Of a user of each organisation, and of the developer, who needs none."""

    async def operate(self, command: str) -> str:
        """Run a command of the operator and return what it prints."""
        return await operate(self.services, command)

    async def answers(self, assistant: str, key: str = "", **members: Any) -> "list[Answer]":
        """Return the streamed and the whole answer to a question."""
        body = {
            "model": assistant,
            "messages": [{"role": "user", "content": QUESTION}],
            **members,
        }
        async with browser(self.services.url, self.keys.get(key, ""), timeout=60) as client:
            streamed = await client.post(PATH, json={**body, "stream": True})
            whole = await client.post(PATH, json=body)
        return [Answer.of_stream(streamed), Answer.of_whole(whole)]


async def operate(services: Processes, command: str) -> str:
    """Run a command of the operator and return what it prints."""
    program, *arguments = shlex.split(command)
    names = {"HEDDLE_IDENTITY_SECRET": "", **services.environment}
    if program != "heddle":
        return await run(command, services.folder, **names)
    ended = await asyncio.to_thread(
        commands.heddle, *arguments, environment=names, cwd=services.folder
    )
    return ended.stdout + ended.stderr


def turn(body: Body) -> list[Delta]:
    """Call the functions that the request declares, or answer when they were called."""
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    called = any(message["role"] == "tool" for message in body["messages"])
    if called or "look_up" not in names:
        return [{"content": "Yes."}]
    calls = [
        {"index": 0, "id": "c1", "function": {"name": "look_up", "arguments": '{"term": "shed"}'}},
        {"index": 1, "id": "c2", "function": {"name": "look_up", "arguments": "{}"}},
    ]
    wants_two = "twice" in json.dumps(body["messages"])
    return [{"tool_calls": calls if wants_two else calls[:1]}]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Heddle]:
    folder = tmp_path_factory.mktemp("settings")
    (folder / "plugins").mkdir()
    for name, (text, _) in NEVER_CALLED.items():
        (folder / "plugins" / name).write_text(text)
    (folder / "plugins" / "leaky.py").write_text(LEAKY)
    (folder / "plugins" / "broken.py").write_text(BROKEN)
    (folder / "plugins" / "sleepy.py").write_text(SLEEPY)
    (folder / "plugins" / "library.py").write_text(CLOSED_TOOL)
    (folder / "plugins" / "helper.py").write_text("TERM = 'shed'\n")
    (folder / "plugins" / "wrong.py").write_text("plugin = object()\n")
    for number, document in enumerate(ASSISTANTS, start=1):
        write_assistant(folder, str(number), document)
    async with AsyncExitStack() as exits:
        sites = await exits.enter_async_context(search_sites(key=KEY))
        upstream = await exits.enter_async_context(scripted(turn))
        settings = {
            "HEDDLE_TOOLS_PLUGINS_DIR": str(folder / "plugins"),
            "HEDDLE_TOOLS_WEB_SEARCH_SEARXNG_URL": sites.url,
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": upstream.url,
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "sk-test",
            "HEDDLE_CONNECTOR_SHARE_PROVIDERS": "true",
            SETTING: "127.0.0.0/8",
            "HEDDLE_KNOWLEDGE_SEARCH_TIMEOUT_SECONDS": "40",  # on a busy machine
        }
        services = await exits.enter_async_context(processes(folder, **settings))
        await fill(services)
        yield Heddle(services, upstream, sites)


async def fill(services: Processes) -> None:
    """Put a document into a collection."""
    document = services.folder / "looms.md"
    document.write_text("A shed is the gap between the warp threads of a Jacquard loom in Lyon.\n")
    await operate(services, "heddle ingest looms.md --collection looms")


async def organisation(heddle: Heddle, slug: str) -> str:
    """Create an organisation with a user who has a key, and return its name."""
    user = f"ann@{slug}.example"
    await heddle.operate(f"heddle organizations set {slug} --name {slug}")
    await heddle.operate(f"heddle users set {user} --organization {slug} --role creator")
    created = f"heddle keys create --name {slug} --organization {slug} --user {user}"
    heddle.keys[slug] = (await heddle.operate(created)).splitlines()[0]
    return slug


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def school(heddle: Heddle) -> str:
    """The name of an organisation without settings."""
    return await organisation(heddle, "school")


async def own_assistant(heddle: Heddle, slug: str, **members: Any) -> str:
    """Create an assistant of the user of an organisation, and return its model."""
    document = {
        "name": f"own_{uuid4().hex}",
        "model": {"connector": "bypass", "model": "full-conversation-bypass"},
        "tools": [{"type": "web_search"}],
        "prompt_template": "{web}{user_input}",
        **members,
    }
    async with browser(heddle.services.url, heddle.keys[slug]) as client:
        response = await client.post("/assistants", json=document)
    response.raise_for_status()
    return f"lamb_assistant.{response.json()['id']}"


async def test_the_operator_of_a_fresh_installation_searches_the_web(heddle: Heddle) -> None:
    for answer in await heddle.answers("lamb_assistant.1"):
        assert ANSWER in answer.text
        assert answer.failures == []


async def test_web_search_is_offered_to_models_on_a_fresh_installation(heddle: Heddle) -> None:
    heddle.upstream.bodies.clear()
    await heddle.answers("lamb_assistant.2")
    for body in heddle.upstream.bodies:
        assert [tool["function"]["name"] for tool in body["tools"]] == ["web_search"]


@pytest.mark.parametrize("nested", [False, True])
async def test_an_organisation_searches_the_web_with_its_own_key(
    heddle: Heddle, *, nested: bool
) -> None:
    slug = await organisation(heddle, f"uni-{nested}".lower())
    providers = {"providers": {"tavily": {"api_key": KEY, "base_url": heddle.sites.url}}}
    settings = {"setups": {"default": providers}} if nested else providers
    (heddle.services.folder / "settings.json").write_text(json.dumps(settings))
    await heddle.operate(f"heddle organizations set {slug} settings.json")
    assistant = await own_assistant(heddle, slug)
    heddle.sites.requests.clear()

    for answer in await heddle.answers(assistant, slug):
        assert ANSWER in answer.text
        assert answer.failures == []
    authorizations = [request.headers.get("Authorization") for request in heddle.sites.requests]
    assert authorizations == [f"Bearer {KEY}"] * 2


async def test_an_organisation_without_a_provider_is_refused(heddle: Heddle, school: str) -> None:
    assistant = await own_assistant(heddle, school)
    for answer in await heddle.answers(assistant, school):
        assert "Web search is not set up here." in json.dumps(answer.failures)


@pytest.mark.parametrize("choice", [None, "auto", {"name": "look_up"}])
async def test_a_call_of_a_legacy_function_is_returned_in_the_older_form(
    heddle: Heddle, choice: Any
) -> None:
    members = {"functions": [LOOK_UP]} | ({"function_call": choice} if choice else {})
    for answer in await heddle.answers("lamb_assistant.3", **members):
        call = {"name": "look_up", "arguments": '{"term": "shed"}'}
        assert answer.message.get("function_call") == call, answer
        assert "tool_calls" not in answer.message
        assert answer.finish == "function_call"
    chosen = {"type": "function", "function": choice} if isinstance(choice, dict) else choice
    assert heddle.upstream.bodies[-1].get("tool_choice") in (chosen, None if chosen else "auto")


async def test_the_result_of_a_legacy_function_reaches_the_model(heddle: Heddle) -> None:
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": None, "function_call": {"name": "look_up"}},
        {"role": "function", "name": "look_up", "content": "A gap."},
    ]
    for answer in await heddle.answers("lamb_assistant.3", messages=messages, functions=[LOOK_UP]):
        assert (answer.text, answer.finish) == ("Yes.", "stop")
    assert "A gap." in json.dumps(heddle.upstream.bodies[-1]["messages"])


async def test_a_second_call_of_a_legacy_function_is_reported(heddle: Heddle) -> None:
    messages = [{"role": "user", "content": "Look it up twice."}]
    for answer in await heddle.answers("lamb_assistant.3", messages=messages, functions=[LOOK_UP]):
        assert answer.message["function_call"]["arguments"] == '{"term": "shed"}'
        assert "has room for the first only" in answer.failures[0]


async def test_of_both_forms_of_functions_the_newer_one_counts(heddle: Heddle) -> None:
    tools = [{"type": "function", "function": LOOK_UP}]
    for answer in await heddle.answers("lamb_assistant.3", functions=[LOOK_UP], tools=tools):
        assert answer.status == 200, answer
        assert answer.finish == "tool_calls"
        assert [each["function"]["name"] for each in answer.message["tool_calls"]] == ["look_up"]
        assert "function_call" not in answer.message


def with_file(identifier: str) -> list[dict[str, Any]]:
    part = {"type": "file", "file": {"file_id": identifier}}
    return [{"role": "user", "content": [{"type": "text", "text": QUESTION}, part]}]


async def uploaded(heddle: Heddle) -> str:
    async with browser(heddle.services.url) as client:
        files = {"file": ("sheds.pdf", PDF, "application/pdf")}
        response = await client.post("/v1/files", data={"purpose": "user_data"}, files=files)
    response.raise_for_status()
    return str(response.json()["id"])


async def test_a_file_of_the_caller_reaches_the_model_by_its_identifier(heddle: Heddle) -> None:
    messages = with_file(await uploaded(heddle))
    heddle.upstream.bodies.clear()
    for answer in await heddle.answers("lamb_assistant.3", messages=messages):
        assert answer.text == "Yes.", answer
    data = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"
    for body in heddle.upstream.bodies:
        sent = body["messages"][-1]["content"][-1]
        assert sent["file"] == {"filename": "sheds.pdf", "file_data": data}


@pytest.mark.parametrize("identifier", ["", "file-abc123XYZ", f"file-{'0' * 32}"])
async def test_other_identifiers_of_files_are_refused(
    heddle: Heddle, school: str, identifier: str
) -> None:
    """A file of another caller, one of the provider, and an unknown one."""
    messages = with_file(identifier or await uploaded(heddle))
    for answer in await heddle.answers("lamb_assistant.3", school, messages=messages):
        assert answer.status == httpx.codes.BAD_REQUEST
        assert answer.error["param"] == "messages[0].content[1].file.file_id"
        assert "Upload it with POST /v1/files" in answer.error["message"]


@pytest.mark.parametrize("module", [module for module in MODULES if module != GATEWAY])
async def test_grpcurl_describes_a_method_of_every_contract(heddle: Heddle, module: str) -> None:
    described = await heddle.operate(
        f"grpcurl -plaintext {heddle.services.address(module)} describe"
    )
    ours = re.findall(r"^(heddle\.\S+) is a service:\nservice \w+ \{(.*?)^\}", described, _LINES)
    assert len(ours) > 1
    for name, methods in ours:
        assert "\n  rpc " in methods, name


async def test_tools_that_can_never_be_called_are_reported_when_loaded(heddle: Heddle) -> None:
    listed = await heddle.operate("heddle tools list")
    log = heddle.services.log("heddle_tools_service")
    for name, (_, problem) in NEVER_CALLED.items():
        assert f"folder:{name}: " in listed
        assert problem in " ".join(listed.split()), name
        assert problem in log, name


async def test_a_replaced_model_is_reported(heddle: Heddle) -> None:
    slug = await organisation(heddle, "lab")
    openai = {"base_url": heddle.upstream.url, "api_key": KEY, "models": ["ours", "retired"]}
    default = {"provider": "openai", "model": "ours"}
    file = heddle.services.folder / "settings.json"
    settings = {"providers": {"openai": openai}, "global_default_model": default}
    file.write_text(json.dumps(settings))
    await heddle.operate(f"heddle organizations set {slug} settings.json --allow-failing-providers")
    model = {"connector": "openai", "model": "retired"}
    assistant = await own_assistant(heddle, slug, model=model, tools=[])
    openai["models"] = ["ours"]
    file.write_text(json.dumps(settings))
    await heddle.operate(f"heddle organizations set {slug} settings.json --allow-failing-providers")

    async with asyncio.timeout(30):  # services use stored settings for some seconds
        answers = await heddle.answers(assistant, slug)
        while not all(each.report for each in answers):
            await asyncio.sleep(0.5)
            answers = await heddle.answers(assistant, slug)
    for answer in answers:
        assert answer.text == "Yes."
        [report] = [each["data"] for each in answer.report if each["type"] == "report"]
        assert report["model_replaced"] == {
            "requested": "openai/retired",
            "replacement": "openai/ours",
        }
        [warning] = report["warnings"]
        assert "openai/ours" in warning
    assert "openai/ours" in unquote(answers[-1].headers["x-heddle-warning"])


async def test_results_keep_the_order_of_the_bindings(heddle: Heddle) -> None:
    for answer in await heddle.answers("lamb_assistant.7"):
        [report] = [each["data"] for each in answer.report if each["type"] == "report"]
        assert [tool["binding"] for tool in report["tools"]] == ["slow", "quick"]
        assert "The message has 4 words." in answer.text


async def test_a_failure_that_cannot_be_recovered_is_not_tried_again(heddle: Heddle) -> None:
    for answer in await heddle.answers("lamb_assistant.8"):
        assert answer.chosen == ["closed", "text_response"]
        assert "closed failed: The library has no such book." in json.dumps(answer.failures)


async def test_rules_choose_the_tool_for_questions_about_all_documents(heddle: Heddle) -> None:
    messages = [{"role": "user", "content": "How many PDF files are there?"}]
    for answer in await heddle.answers("lamb_assistant.9", messages=messages):
        assert answer.chosen[0] == "query_documents_metadata"


async def test_no_sink_shows_a_secret_of_a_configuration(heddle: Heddle) -> None:
    for answer in await heddle.answers("lamb_assistant.4"):
        assert "Asked as [redacted]" in answer.text
        failures = json.dumps(answer.failures)
        assert "Asked as [redacted]" in failures
        assert OPAQUE not in answer.raw
        assert answer.status == httpx.codes.OK
    streamed, *_ = await heddle.answers("lamb_assistant.4")
    assert streamed.raw.count("Asked as [redacted]") > 2
    log = heddle.services.log("heddle_tools_service")
    assert log.count('"leaky: Asked as [redacted]"') > 1  # of the library, and printed
    assert '"RuntimeError: leaky: Asked as [redacted]"' in log
    for module in MODULES:
        assert OPAQUE not in heddle.services.log(module)


async def test_no_trace_shows_a_secret_of_a_configuration(heddle: Heddle) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    body: dict[str, Any] = {"assistant": LEAKING, "messages": messages, "trace": True}
    async with browser(heddle.services.url, timeout=60) as client:
        for stream in (False, True):
            response = await client.post("/assistants/try", json=body | {"stream": stream})
            assert response.status_code == httpx.codes.OK
            assert '"trace"' in response.text
            assert "Asked as [redacted]" in response.text
            assert OPAQUE not in response.text


async def test_a_tool_that_raises_is_reported_and_the_answer_continues(heddle: Heddle) -> None:
    for answer in await heddle.answers("lamb_assistant.5"):
        assert "[The tool broken failed" in answer.text
        assert "The message has 4 words." in answer.text
        [tool, *_] = answer.failures
        assert (tool["name"], tool["outcome"]) == ("broken", "failed")
        assert "boom" not in answer.raw
    assert "boom" in heddle.services.log("heddle_tools_service")


async def test_a_search_of_a_missing_collection_is_reported_and_not_chosen(
    heddle: Heddle,
) -> None:
    for answer in await heddle.answers("lamb_assistant.6"):
        [tool, warning] = answer.failures
        assert (tool["name"], tool["outcome"]) == ("fast_vector_search", "failed")
        assert "no collection 'no-such-manual'" in warning
        assert answer.chosen == ["text_response"]
        assert "HEDDLE_" not in answer.raw
    assert "HEDDLE_KNOWLEDGE_KB_URL" in heddle.services.log("heddle_knowledge")


async def test_the_log_names_each_file_and_each_tool_that_was_loaded(heddle: Heddle) -> None:
    # The process that comes first generates the secret of all, before it writes JSON.
    log = heddle.services.log("heddle_tools_service").splitlines()
    lines = [json.loads(line) for line in log if line.startswith("{")]
    events = {line["event"]: line["level"] for line in lines if "event" in line}
    assert events["tools/helper.py has no 'plugin' attribute — skipped"] == "warning"
    assert events["tools/wrong.py plugin is not a ToolPlugin — skipped"] == "warning"
    async with browser(heddle.services.url) as client:
        response = await client.get("/tools")
    names = [tool["name"] for tool in response.json()["tools"]]
    assert len(names) > 20
    assert {events.get(f"Loaded tool: {name}") for name in names} == {"info"}


async def test_an_organisation_reaches_no_address_inside_the_cloud(
    heddle: Heddle, school: str, tmp_path: Path
) -> None:
    providers = {"searxng": {"base_url": "http://[64:ff9b::a83f:8110]"}}
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"providers": providers}))
    refusal = await heddle.operate(f"heddle organizations set {school} {file}")
    assert "puts 'providers.searxng' into a private network" in " ".join(refusal.split())


async def test_a_redirect_of_an_organisations_server_is_not_followed(heddle: Heddle) -> None:
    slug = await organisation(heddle, "college")
    providers = {"searxng": {"base_url": heddle.sites.url}}
    (heddle.services.folder / "settings.json").write_text(json.dumps({"providers": providers}))
    await heddle.operate(f"heddle organizations set {slug} settings.json")
    assistant = await own_assistant(heddle, slug)
    heddle.sites.answer = 302
    heddle.sites.headers = {"location": "http://168.63.129.16/metadata"}
    try:
        async with asyncio.timeout(30):  # services use stored settings for some seconds
            answers = await heddle.answers(assistant, slug)
            while any("is not set up here" in json.dumps(each.failures) for each in answers):
                await asyncio.sleep(0.5)
                answers = await heddle.answers(assistant, slug)
        for answer in answers:
            assert "redirects (302)" in json.dumps(answer.failures)
    finally:
        heddle.sites.answer, heddle.sites.headers = None, {}


async def test_a_search_without_the_service_behind_it_is_reported_and_not_chosen(
    heddle: Heddle,
) -> None:
    await asyncio.to_thread(heddle.services.kill, "heddle_knowledge")
    try:
        for answer in await heddle.answers("lamb_assistant.6"):
            [tool, warning] = answer.failures
            assert (tool["name"], tool["outcome"]) == ("fast_vector_search", "failed")
            assert "Try again later" in warning
            assert answer.chosen == ["text_response"]
    finally:
        await asyncio.to_thread(heddle.services.restart, "heddle_knowledge")
