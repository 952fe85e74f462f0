"""What operators and clients see of collections, passages and pages, from separate processes."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from integration import commands
from integration.processes import Processes, processes
from integration.whole import write_assistant
from knowledge.pages.pdfs import pdf

OPERATORS_KEY = "lamb_a_key_of_32_characters_0123"
CREATOR = "ann@mill.example"
SECONDS = 60
RIGHT = "Where does the reed beat the weft?"
WRONG = "Which bank lends money to young farmers?"
PAGES = (
    "Contents\nThe warp ........................ 2\nThe reed . . . . . . . . . . . . 3\n1",
    "The warp\nThe warp holds 1200 threads under tension on the beam.\n2",
    "The reed\nThe reed beats the weft against the fell of the cloth.\nIn 1984\n3",
    "Prices\nOne reed ........................ 40\nOne beam ........................ 250\n4",
)
NOTES = """---
title: Notes on felt
author: Ana
tags: [wool, water]
---
# Felt

Felt is pressed, not woven. In 2019 the mill pressed 250 pieces.
"""


@dataclass
class Heddle:
    """Separate services, the operator's commands, and clients with three keys."""

    running: Processes
    folder: Path
    operator: httpx.Client
    member: httpx.Client
    """With a key of the default organisation that has no scopes."""
    creator: httpx.Client
    """With a key of a creator of that organisation."""

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `heddle` to its end."""
        return commands.heddle(*arguments, environment=self.running.environment)

    def ran(self, *arguments: str) -> str:
        """Run `heddle`, and return its standard output."""
        run = self.command(*arguments)
        assert run.returncode == 0, run.stderr + run.stdout
        return run.stdout

    def written(self, name: str, content: str | bytes) -> str:
        """Write a file, and return its path."""
        path = self.folder / "documents" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def search(self, store: str, query: str, **body: Any) -> list[dict[str, Any]]:
        """Return the passages of a store that the member finds."""
        response = self.member.post(
            f"/v1/vector_stores/{store}/search", json={"query": query, **body}
        )
        assert response.status_code == 200, response.text
        results: list[dict[str, Any]] = response.json()["data"]
        return results

    def sources(self, assistant: str, question: str) -> list[list[dict[str, Any]]]:
        """Return the sources of the streamed and the whole answer to a question."""
        body = {
            "model": f"lamb_assistant.{assistant}",
            "messages": [{"role": "user", "content": question}],
        }
        path = "/v1/chat/completions"
        streamed = self.operator.post(path, json={**body, "stream": True}).text
        chunks = [
            json.loads(line) for line in re.findall(r"^data: (\{.*)$", streamed, re.MULTILINE)
        ]
        events = [chunk["event"] for chunk in chunks if "event" in chunk]
        whole = self.operator.post(path, json=body).json()
        return [
            [event["data"] for event in events if event["type"] == "source"],
            whole.get("sources", []),
        ]

    def size(self) -> int:
        """Return the bytes of the knowledge store on disk."""
        files = (self.folder / "knowledge").rglob("*")
        return sum(path.stat().st_size for path in files if path.is_file())


def texts(results: list[dict[str, Any]]) -> list[str]:
    return [each["content"][0]["text"] for each in results]


RERANKING = "reranking: model}}]"
ASSISTANTS = {
    "1": "tools: [{type: simple_rag, config: {collections: [manual]}}]",
    "2": "tools: [{type: colqwen_search, config: {collections: [pages]}}]",
    "3": "tools: [{type: colqwen_search, config: {collections: [pages], threshold: 0.5}}]",
    "4": "tools: [{type: simple_rag, config: {collections: [manual], " + RERANKING,
}
BYPASS = "model: {connector: bypass, model: full-conversation-bypass}\n"
TEMPLATE = "\nprompt_template: '{context}{user_input}'\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Heddle]:
    folder = tmp_path_factory.mktemp("knowledge")
    for number, tools in ASSISTANTS.items():
        write_assistant(folder, number, f"{BYPASS}{tools}{TEMPLATE}")
    settings = {
        "HEDDLE_GATEWAY_DEVELOPMENT": "",
        "HEDDLE_GATEWAY_API_KEY": OPERATORS_KEY,
        "HEDDLE_KNOWLEDGE_VERSION_SECONDS": "1",
    }
    async with processes(folder, **settings) as running:
        with client(running.url, OPERATORS_KEY) as operator:
            there = Heddle(running, folder, operator, operator, operator)
            there.ran("organizations", "set", "default", "--name", "Mill")
            there.ran("users", "set", CREATOR, "--organization", "default", "--role", "creator")
            create = ("keys", "create", "--name", "app", "--organization", "default")
            key = there.ran(*create).strip()
            creators_key = there.ran(*create, "--user", CREATOR).strip()
            manual = there.written("manual.pdf", pdf(*PAGES))
            there.ran("ingest", manual, there.written("felt.md", NOTES), "--collection", "manual")
            with client(running.url, key) as member, client(running.url, creators_key) as creator:
                there.member, there.creator = member, creator
                yield there


def client(url: str, key: str) -> httpx.Client:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.Client(base_url=url, headers=headers, timeout=SECONDS, trust_env=False)


def test_sources_of_the_command_show_their_pages_one_on_a_line(heddle: Heddle) -> None:
    printed = heddle.ran("chat", "1", RIGHT).partition("\nSources\n")[2].splitlines()
    assert "1. manual.pdf, page 3" in printed
    assert all(re.fullmatch(r"\d+\. \S.*", line) for line in printed)
    for sources in heddle.sources("1", RIGHT):
        assert [each["source"]["name"] for each in sources]


def test_the_command_and_a_key_of_the_default_organisation_see_the_same(
    heddle: Heddle,
) -> None:
    names = {store["name"] for store in heddle.member.get("/v1/vector_stores").json()["data"]}
    assert "manual" in names
    assert any("beats the weft" in text for text in texts(heddle.search("manual", RIGHT)))
    assert heddle.member.delete("/v1/vector_stores/manual").status_code == 403

    body = {"name": "threads"}
    assert heddle.member.post("/v1/vector_stores", json=body).status_code == 403
    store = heddle.creator.post("/v1/vector_stores", json=body).json()
    heddle.ran("ingest", heddle.written("silk.txt", "Silk is strong."), "--collection", "threads")
    listed = [line.split()[0] for line in heddle.ran("collections", "list").splitlines()]
    assert listed.count("threads") == 1
    assert "Silk is strong." in heddle.ran("search", "silk", "--collection", "threads")
    path = f"/v1/vector_stores/{store['id']}/search"
    results = heddle.creator.post(path, json={"query": "silk"}).json()["data"]
    assert texts(results) == ["Silk is strong."]


def test_what_the_operator_ingests_in_private_stays_private(heddle: Heddle) -> None:
    path = heddle.written("wages.txt", "Wages are secret.")
    heddle.ran("ingest", path, "--collection", "wages", "--sharing", "private")
    names = {store["name"] for store in heddle.member.get("/v1/vector_stores").json()["data"]}
    assert "wages" not in names
    assert heddle.member.get("/v1/vector_stores/wages").status_code == 404
    body = {
        "name": "payroll",
        "model": {"connector": "bypass", "model": "full-conversation-bypass"},
        "prompt_template": "{context}{user_input}",
        "tools": [{"type": "simple_rag", "config": {"collections": ["wages"]}}],
    }
    store = heddle.operator.post("/assistants", json=body).json()
    for sources in heddle.sources(store["id"], "wages"):
        assert [each["document"] for each in sources] == [["Wages are secret."]]


@pytest.mark.exhaustive
def test_the_command_reports_progress_into_a_pipe(heddle: Heddle) -> None:
    long = "\n\n".join(f"Thread {n} crosses thread {n + 1}. " * 9 for n in range(60))
    command = [sys.executable, "-m", "heddle_cli", "ingest", heddle.written("long.txt", long)]
    with subprocess.Popen(  # noqa: S603 - our own module
        [*command, "--collection", "long"],
        env=os.environ | heddle.running.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr
        assert running.stdout
        first = running.stderr.readline()
        assert running.poll() is None
        lines = [first, *running.stderr]
        result = running.stdout.read()
    assert all(re.fullmatch(r"0/1 documents, \w+ long\.txt \d+/\d+\n", line) for line in lines)
    assert 1 <= len(lines) <= 20
    assert "new         long.txt: " in result


@pytest.mark.exhaustive
def test_scores_of_pages_mean_the_same_for_every_question(heddle: Heddle) -> None:
    path = heddle.written("pages.pdf", pdf(*PAGES[1:3]))
    heddle.ran("ingest", path, "--collection", "pages", "--page-handling", "search")
    best = {}
    for question in (RIGHT, WRONG):
        for sources in heddle.sources("2", question):
            scores = [score for each in sources for score in each["distances"]]
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)
            best[question] = scores[0]
    assert best[WRONG] < 0.5 < best[RIGHT]
    for sources in heddle.sources("3", RIGHT):
        assert len(sources) == 1
    assert heddle.sources("3", WRONG) == [[], []]


def test_numbers_of_pages_contents_and_front_matter_are_no_passages(heddle: Heddle) -> None:
    results = (heddle.search("manual", query) for query in ("the", "reed", "felt"))
    every = "\n".join(text for passages in results for text in texts(passages))
    assert "...." not in every.replace("One reed ........................ 40", "").replace(
        "One beam ........................ 250", ""
    )
    assert "One reed ........................ 40" in every
    assert not re.search(r"^\d$", every, re.MULTILINE)
    assert "In 1984" in every
    assert "author" not in every
    assert "In 2019 the mill pressed 250 pieces." in every
    [felt] = [each for each in heddle.search("manual", "felt") if each["filename"] == "felt.md"]
    assert felt["attributes"] == {"author": "Ana", "tags": "wool, water"}


@pytest.mark.exhaustive
def test_space_is_free_after_a_bulk_load_without_another_document(heddle: Heddle) -> None:
    for number in range(40):
        heddle.written(f"bulk-{number}.txt", f"Sack {number} holds wool. " * 20)
    paths = sorted(map(str, (heddle.folder / "documents").glob("bulk-*.txt")))
    heddle.ran("ingest", *paths, "--collection", "bulk")
    loaded = heddle.size()
    collection = heddle.member.get("/v1/vector_stores/bulk").json()["id"].removeprefix("vs_")
    versions = heddle.folder / "knowledge" / f"chunks_{collection}.lance" / "_versions"
    until = time.monotonic() + SECONDS
    while len(list(versions.glob("*.manifest"))) > 1:
        assert time.monotonic() < until, heddle.running.log("heddle_knowledge")[-3000:]
        time.sleep(0.2)
    assert heddle.size() < loaded


def by_command(heddle: Heddle) -> str:
    run = heddle.command("search", RIGHT, "--collection", "manual", "--reranking", "model")
    return run.stderr


def by_rest(heddle: Heddle) -> str:
    body = {"query": RIGHT, "ranking_options": {"ranker": "model"}}
    return heddle.member.post("/v1/vector_stores/manual/search", json=body).text


def by_tool(heddle: Heddle) -> str:
    body = {
        "model": "lamb_assistant.4",
        "messages": [{"role": "user", "content": RIGHT}],
    }
    return heddle.operator.post("/v1/chat/completions", json=body).text


@pytest.mark.parametrize("search", [by_command, by_rest, by_tool])
def test_a_reranking_model_that_is_missing_is_named(
    heddle: Heddle, search: Callable[[Heddle], str]
) -> None:
    assert "No reranking model is configured" in search(heddle)


def test_an_unknown_ranker_is_refused_with_those_that_there_are(heddle: Heddle) -> None:
    search = {"query": "silk", "ranking_options": {"ranker": "colbert"}}
    refused = heddle.member.post("/v1/vector_stores/manual/search", json=search)
    assert refused.status_code == 400
    assert "'model'" in refused.text
