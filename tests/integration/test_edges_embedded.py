"""The embedded model at its edges, through the gateway, with a process for each service.

Each row is asked for streamed and whole. The gateway's deadline is long while the agent decides,
and short where answers must end before it.
"""

import json
import re
import shutil
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from heddle_runtime.contract.conversations import RAG_TASK
from integration.browser import browser
from integration.embedded_tools import Hours, Search, Topics
from integration.processes import GATEWAY, Processes, processes
from integration.whole import write_assistant
from runtime.examples import sampled

pytestmark = [
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the model is not installed"),
    pytest.mark.asyncio(loop_scope="module"),
]
TOOLS = Path(__file__).with_name("embedded_tools.py")
MODEL = "model: {connector: local, model: smollm2-135m-instruct}\n"
AGENT = (
    f"{MODEL}strategy: STRATEGY\ntools:\n"
    "  - {type: search_collection, mode: agent}\n"
    "  - {type: show_opening_hours, mode: agent}\n"
    "  - {type: book_guide, mode: agent}\n"
)
ASSISTANTS = {
    "1": MODEL,
    "2": AGENT.replace("STRATEGY", "agent"),
    "3": AGENT.replace("STRATEGY", "agent_native"),
}
SCHEMAS = json.dumps([model.model_json_schema() for model in (Search, Hours, Topics)])
SCHEMA_WORDS = re.findall(r"\w+", SCHEMAS.casefold())
DEADLINE_SECONDS = 4
KINDS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@dataclass(frozen=True)
class Answer:
    """What a client reads of an answer of either kind."""

    status: int
    text: str
    finish: str
    warnings: list[str]
    error: str
    choices: list[dict[str, Any]]
    """The tools that the agent chose first, and their inputs."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def services(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Processes]:
    folder = tmp_path_factory.mktemp("heddle")
    (folder / "plugins").mkdir()
    shutil.copy(TOOLS, folder / "plugins" / "museum.py")
    for identifier, text in ASSISTANTS.items():
        write_assistant(folder, identifier, text)
    environment = {"HEDDLE_TOOLS_PLUGINS_DIR": str(folder / "plugins")}
    async with processes(folder, **environment) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(services: Processes) -> AsyncGenerator[httpx.AsyncClient]:
    async with browser(services.url, timeout=130) as connection:
        yield connection


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hurried(
    services: Processes, client: httpx.AsyncClient
) -> AsyncGenerator[httpx.AsyncClient]:
    """A gateway with a short deadline, before a model that is loaded."""
    await ask(client, "1", [user("Hi")], stream=False, max_tokens=1)
    services.kill(GATEWAY)
    services.environment["HEDDLE_GATEWAY_DEADLINE_SECONDS"] = str(DEADLINE_SECONDS)
    services.start(GATEWAY)
    services.wait_until_ready(GATEWAY)
    async with browser(services.url, timeout=60) as connection:
        yield connection


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def conversation(*turns: str) -> list[dict[str, Any]]:
    """Return turns of the user and the assistant alternately, the user's first."""
    return [
        {"role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(turns)
    ]


async def ask(
    client: httpx.AsyncClient,
    assistant: str,
    messages: list[dict[str, Any]],
    *,
    stream: bool,
    **more: Any,
) -> Answer:
    body = {"model": assistant, "messages": messages, "stream": stream, "temperature": 0, **more}
    response = await client.post("/v1/chat/completions", json=body)
    chunks = from_stream(response.text) if "stream" in response.headers["content-type"] else None
    parts = chunks if chunks is not None else [response.json()]
    events = [event for part in parts for event in as_list(part.get("heddle"))]
    choices = [part["choices"][0] for part in parts if part.get("choices")]
    return Answer(
        response.status_code,
        "".join(e.get("delta", e.get("message")).get("content") or "" for e in choices),
        next((e["finish_reason"] for e in choices if e["finish_reason"]), ""),
        [line for e in events if e["type"] == "report" for line in e["data"]["warnings"]],
        next((part["error"]["message"] for part in parts if "error" in part), ""),
        next((e["data"]["choices"] for e in events if e["type"] == "decision"), []),
    )


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def from_stream(text: str) -> list[dict[str, Any]]:
    data = "data: "
    lines = [line.removeprefix(data) for line in text.splitlines() if line.startswith(data)]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else as_list(value):
        if each is not value:
            yield from texts(each)


LIBRARY = ("When does the library open on Monday?", "At nine.", "And on Sunday?")
ROWS: dict[str, tuple[tuple[str, ...], str, dict[str, Any]]] = {
    "a question that refers back": (
        ("Who painted the Spinners?", "Velázquez.", "What else did he paint?"),
        "search_collection",
        {"query": "Who painted the Spinners? What else did he paint?"},
    ),
    "a question": (
        ("Who painted the portrait of Anna Puig?",),
        "search_collection",
        {"query": "Who painted the portrait of Anna Puig?"},
    ),
    "a new question in a conversation": (
        ("When does the shop close?", "At 19:00.", "Which works of Ramon Casas are in the museum?"),
        "search_collection",
        {"query": "Which works of Ramon Casas are in the museum?"},
    ),
    "texts in lists and texts that may be missing": (
        ("Book a guide who knows about ships for 3 children",),
        "book_guide",
        {},
    ),
    "listed values": (LIBRARY, "show_opening_hours", {"place": "library", "weekday": "sunday"}),
    "a question about a file": (
        (f"{RAG_TASK}\n<context>\nOld lions.\n</context>\n\nWho made the golden ring?",),
        "search_collection",
        {"query": "Who made the golden ring?"},
    ),
}


@KINDS
@pytest.mark.parametrize("name", sampled(ROWS, 2))
@pytest.mark.parametrize(
    "assistant",
    [pytest.param("2", id="label"), pytest.param("3", id="native", marks=pytest.mark.exhaustive)],
)
async def test_the_agent_uses_only_words_of_the_conversation(
    client: httpx.AsyncClient, name: str, assistant: str, *, stream: bool
) -> None:
    turns, tool, inputs = ROWS[name]

    answer = await ask(client, assistant, conversation(*turns), stream=stream, max_tokens=1)

    assert answer.status == httpx.codes.OK, answer.error
    known = {*re.findall(r"\w+", " ".join(turns).casefold()), *SCHEMA_WORDS}
    for choice in answer.choices:
        words = re.findall(r"\w+", " ".join(texts(choice["inputs"])).casefold())
        assert [word for word in words if word not in known] == []
    if assistant == "2":
        [choice] = answer.choices
        assert choice["tool"] == tool
        assert inputs.items() <= choice["inputs"].items()


STORY = "Tell a very long story about a weaver and the sea, with every detail."
OUT_OF_TIME = "The answer ends here because the time for it is over."


@KINDS
async def test_an_answer_ends_before_the_deadline(
    hurried: httpx.AsyncClient, *, stream: bool
) -> None:
    answer = await ask(hurried, "1", [user(STORY)], stream=stream, max_tokens=3_500)

    assert (answer.status, answer.error, answer.finish) == (httpx.codes.OK, "", "length")
    assert len(answer.text) > 50
    assert any(each.startswith(OUT_OF_TIME) for each in answer.warnings)


@KINDS
async def test_a_prompt_that_takes_too_long_is_refused_in_time(
    hurried: httpx.AsyncClient, *, stream: bool
) -> None:
    words = " ".join(f"{number} threads" for number in range(500))

    answer = await ask(hurried, "1", [user(words)], stream=stream)

    assert answer.status == httpx.codes.GATEWAY_TIMEOUT
    assert re.match(r"The conversation has \d+ tokens, and the embedded model cannot", answer.error)
    assert "Shorten the conversation" in answer.error


@pytest.mark.alone  # a busy machine needs all of the time for the prompt
@pytest.mark.exhaustive
@KINDS
async def test_a_short_answer_has_neither_warning_nor_limit(
    hurried: httpx.AsyncClient, *, stream: bool
) -> None:
    answer = await ask(hurried, "1", [user("Say yes.")], stream=stream, max_tokens=30)

    assert answer.warnings == []
    assert answer.finish in ("stop", "length")
