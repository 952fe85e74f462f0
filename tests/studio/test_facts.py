"""Every screen shows what the API says: each row, number, date, name and state of its lists."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from gateway.essays import EXAMPLE
from heddle_knowledge.reading.admission import UNKNOWN, media_type_of
from playwright.sync_api import Browser
from runtime.ports import free_port
from studio.filling import wait
from studio.harness import ROOT, SECRET, Screen, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
ROUTES = ROOT / "studio/src/routes"
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec"]
NEVER = re.compile(r"1970|\bvs_|\bdeveloper\b|undefined|\bNaN\b|\[object|no longer exists|\b0 s\b")
"""What no screen shows of a thing that exists, except those of `INTERNAL`."""
INTERNAL = {"(app)/audit", "(app)/keys"}
"""The screens whose object is an identifier."""
ELSEWHERE = {"(app)/migration", "(app)/migration/[id]"}
"""The screens that `test_operations_migration.py` compares, with an installation to migrate."""
TEXT = """() => [document.querySelector('main').innerText,
    ...[...document.querySelectorAll('main input, main textarea, main option:checked')]
        .map((each) => each.value)].join('\\n')"""
FORMATS = {"PDF": "a.pdf", "Word": "a.docx", "Markdown": "a.md", "HTML": "a.html", "CSV": "a.csv"}
Row = Sequence[str]
Json = Any


@dataclass
class World:
    """A Heddle in which each screen has something to show."""

    studio: Studio
    assistant: str
    collection: str
    file: str
    rubric: str
    group: str

    def get(self, path: str) -> Json:
        """Return what a route answers."""
        return self.studio.client.get(path).raise_for_status().json()


@dataclass(frozen=True)
class Facts:
    """What a screen shows: the rows of its tables in order, and texts anywhere."""

    rows: Callable[[World], list[Row]] = lambda _: []
    texts: Callable[[World], Row] = lambda _: ()
    path: str = ""
    """Its address, if it is not that of its route."""


def day(seconds: float) -> str:
    """Return a date in British order."""
    time = datetime.fromtimestamp(seconds)  # noqa: DTZ006 - as the browser, on this machine
    return f"{time.day} {MONTHS[time.month - 1]} {time.year}"


def moment(seconds: int) -> str:
    """Return a date and a time."""
    return f"{day(seconds)}, {datetime.fromtimestamp(seconds):%H:%M}"  # noqa: DTZ006 - likewise


def person(owner: str) -> str:
    """Return the name of an owner."""
    return "Operator" if owner in {"", "developer", "operator"} else owner


def size(count: int) -> str:
    """Return a number of bytes below a megabyte."""
    return f"{count} bytes" if count < 1000 else f"{round(count / 1000, 1):g} kB"


def assistants(world: World) -> list[Row]:
    listed = world.get("/assistants?selection=all")["assistants"]
    return [
        (
            *(each["title"], person(each["owner"])),
            *("Published" if each["published"] else "Private", day(each["created"])),
        )
        for each in listed
    ]


def collections(world: World) -> list[Row]:
    sharing = {"private": "", "organization": "My organisation", "everyone": "Everyone"}
    return [
        (
            *(each["name"], str(each["file_counts"]["total"]), person(each["owner"])),
            *(sharing[each["sharing"]], day(each["created_at"])),
        )
        for each in world.get("/v1/vector_stores")["data"]
    ]


def files(world: World) -> list[Row]:
    listed = world.get(f"/v1/vector_stores/{world.collection}/files")["data"]
    assert len(listed) == 2  # one of a file, one that was ingested without
    return [
        (each["filename"], "Ready", size(each["usage_bytes"]), moment(each["created_at"]))
        for each in listed
    ]


def statistics(world: World) -> Row:
    counts = world.get(f"/v1/vector_stores/{world.collection}/statistics")
    return (
        *(f"Documents: {counts['documents']}", f"Passages: {counts['passages']}"),
        size(counts["document_bytes"]),
    )


def passages(world: World) -> Row:
    path = f"/v1/vector_stores/{world.collection}/files/{world.file}"
    listed = world.get(f"{path}/passages")["data"]
    return (world.get(path)["filename"], *(each["text"] for each in listed))


def versions(world: World) -> Row:
    listed = world.get(f"/assistants/{world.assistant}/versions")["versions"]
    return [
        text
        for each in listed
        for text in (
            f"Version {each['number']}",
            f"{person(each['author'])} · {moment(each['save_time'])}",
        )
    ]


def consumption(world: World) -> list[Row]:
    days = world.get("/usage?by=day")["sums"]
    by_day = [
        (
            day(datetime.fromisoformat(each["day"]).timestamp()),
            *("$0", str(each["requests"]), str(each["prompt_tokens"] + each["completion_tokens"])),
        )
        for each in days
    ]
    titles = {
        each["id"]: each["title"]
        for each in world.get("/assistants?selection=managed")["assistants"]
    }
    names = {"assistant": "assistant_id", "model": "model", "organization": "organization"}
    sums = [
        (
            *(
                titles.get(each[name], each[name]),
                "$0",
                str(each["requests"]),
                str(each["prompt_tokens"]),
            ),
            *(str(each["completion_tokens"]), str(each["unpriced_tokens"])),
        )
        for by, name in names.items()
        for each in world.get(f"/usage?by={by}")["sums"]
    ]
    budgets = [
        (titles[each["assistant_id"]], person(each["owner"]), "$0")
        for each in world.get("/usage/assistants")["assistants"]
    ]
    return [*by_day, *sums, *budgets]


def organizations(world: World) -> list[Row]:
    return [
        (each["name"] or each["slug"], each["slug"])
        for each in world.get("/organizations")["organizations"]
    ]


def users(world: World) -> list[Row]:
    return [
        (each["email"], each["name"], "Disabled" if each["disabled"] else "Active")
        for each in world.get("/organizations/uni/users")["users"]
    ]


def prices(world: World) -> list[Row]:
    return [
        (each["name"], *(f"{each[kind]:g}" for kind in ("input", "cached_input", "output")))
        for each in world.get("/organizations/uni/prices")["prices"]
    ]


def keys(world: World) -> list[Row]:
    return [
        (each["name"], each["id"], each["organization"], day(each["expires_at"]))
        for each in world.get("/keys")["keys"]
    ]


def events(world: World) -> list[Row]:
    return [
        (moment(each["time"]), each["actor"]["subject"], each["action"], each["object_id"])
        for each in world.get("/audit?page_size=25")["events"]
    ]


def components(world: World) -> Row:
    services = world.get("/health/details")["services"]
    return [
        text
        for name, each in services.items()
        for text in (name, f"Version {each['version']}", *(it["name"] for it in each["components"]))
    ]


def tool(world: World) -> Row:
    return tuple(world.get("/tools/word_count")[name] for name in ("title", "description"))


def rubrics(world: World) -> list[Row]:
    readers = {True: "Organisation", False: "Only the owner"}
    return [
        (each["title"], person(each["owner"]), readers[each["public"]], day(each["updated"]))
        for each in world.get("/rubrics")["rubrics"]
    ]


def groups(world: World) -> list[Row]:
    return [
        (
            *(each["title"], str(each["member_count"]), str(len(each["assistants"]))),
            day(each["created_at"]),
        )
        for each in world.get("/groups")["groups"]
    ]


def group(world: World) -> Row:
    stored = world.get(f"/groups/{world.group}")
    members = world.get(f"/groups/{world.group}/members")["members"]
    return (
        *(stored["title"], stored["code"]["code"], *stored["teachers"], "Weaver"),
        *(each["email"] for each in members),
    )


def usable(world: World) -> list[str]:
    return [each["title"] for each in world.get("/assistants?selection=usable")["assistants"]]


SCREENS: dict[str, Facts] = {
    "(app)": Facts(texts=lambda it: [row[0] for row in assistants(it)] + [assistants(it)[0][3]]),
    "(app)/assistants": Facts(rows=assistants),
    "(app)/assistants/[id]": Facts(texts=lambda _: ("Weaver", "Looms")),
    "(app)/assistants/[id]/insights": Facts(texts=lambda _: ("Fewer than three learners",)),
    "(app)/assistants/[id]/questions": Facts(texts=lambda _: ("What is a shed?",)),
    "(app)/assistants/[id]/sharing": Facts(texts=lambda _: ("Operator",)),
    "(app)/assistants/[id]/versions": Facts(texts=versions),
    "(app)/audit": Facts(rows=events),
    "(app)/gallery": Facts(),
    "(app)/groups": Facts(rows=groups),
    "(app)/groups/[id]": Facts(texts=group),
    "(app)/health": Facts(texts=components),
    "(app)/keys": Facts(rows=keys),
    "(app)/knowledge": Facts(rows=collections),
    "(app)/knowledge/[id]": Facts(rows=files, texts=statistics),
    "(app)/knowledge/[id]/[file]": Facts(texts=passages),
    "(app)/models": Facts(
        texts=lambda it: it.get("/v1/vector_store_options")["embedding_models"][:1]
    ),
    "(app)/organizations": Facts(rows=organizations),
    "(app)/organizations/[slug]": Facts(texts=lambda it: (it.get("/organizations/uni")["name"],)),
    "(app)/organizations/[slug]/mcp": Facts(texts=lambda _: ("The University",)),
    "(app)/organizations/[slug]/prices": Facts(rows=prices),
    "(app)/organizations/[slug]/users": Facts(rows=users),
    "(app)/rubrics": Facts(rows=rubrics),
    "(app)/rubrics/[id]": Facts(
        texts=lambda it: (it.get(f"/rubrics/{it.rubric}")["content"]["title"],)
    ),
    "(app)/start": Facts(texts=lambda _: tuple(FORMATS)),
    "(app)/tools": Facts(texts=lambda it: [each["title"] for each in it.get("/tools")["tools"]]),
    "(app)/tools/[name]": Facts(texts=tool, path="tools/word_count"),
    "(app)/usage": Facts(
        rows=consumption,
        texts=lambda it: (f"{it.get('/usage')['sums'][0]['requests']}",),
    ),
    "(chat)/chat": Facts(texts=usable, path="chat"),
    "(chat)/chat/[id]": Facts(texts=lambda _: ("Weaver",), path="chat/new?assistant=[id]"),
    "(chat)/chat/join": Facts(texts=lambda _: ("Code of the group",), path="chat/join"),
    "(chat)/chat/framed/[assistant]": Facts(texts=lambda _: ("Weaver",), path="chat/framed/[id]"),
    "setup": Facts(),
    "sign-in": Facts(),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[World]:
    """A Heddle whose collections, assistants, organisations and keys the screens show."""
    folder, knowledge = tmp_path_factory.mktemp("facts"), f"127.0.0.1:{free_port()}"
    with running(folder, browser, HEDDLE_KNOWLEDGE_LISTEN=knowledge) as studio:
        post, put = studio.client.post, studio.client.put
        ingest(folder, knowledge)
        (store,) = studio.client.get("/v1/vector_stores").json()["data"]
        upload = {"file": ("shed.md", b"A shed is an opening in the warp.")}
        form = {"purpose": "assistants"}
        file = post("/v1/files", data=form, files=upload).raise_for_status().json()["id"]
        attached = f"/v1/vector_stores/{store['id']}/files"
        post(attached, json={"file_id": file}).raise_for_status()
        wait(studio, store["id"])
        tools = [{"type": "simple_rag", "config": {"collections": ["looms"]}}]
        model = {"connector": "local", "model": "smollm2-135m-instruct"}
        body = {"name": "weaver", "title": "Weaver", "model": model, "tools": tools}
        assistant = post("/assistants", json=body).raise_for_status().json()["id"]
        questions = {"questions": [{"title": "", "text": "What is a shed?"}]}
        put(f"/assistants/{assistant}/questions", json=questions).raise_for_status()
        rubric = post("/rubrics", json={"content": EXAMPLE}).raise_for_status().json()["id"]
        asked = [{"role": "user", "content": "What is a shed?"}]
        answer = {"model": f"lamb_assistant.{assistant}", "messages": asked, "max_tokens": 4}
        post("/v1/chat/completions", json=answer).raise_for_status()
        put("/organizations/uni", json={"name": "The University"}).raise_for_status()
        user = {"name": "Ann", "role": "creator"}
        put("/organizations/uni/users/ann@uni.example", json=user).raise_for_status()
        cost = {"prices": {"openai/*": {"input": 2.5, "cached_input": 1.25, "output": 10}}}
        put("/organizations/uni/prices", json=cost).raise_for_status()
        key = {"name": "Script", "organization": "uni", "expires_at": 1_900_000_000}
        post("/keys", json=key).raise_for_status()
        course = {"title": "Weaving 1", "assistants": [assistant], "teachers": ["ann@uni.example"]}
        group = post("/groups", json=course).raise_for_status().json()["id"]
        post(f"/groups/{group}/code", json={}).raise_for_status()
        learners = {"emails": ["ben@uni.example"]}
        post(f"/groups/{group}/members", json=learners).raise_for_status()
        yield World(studio, assistant, store["id"], file, rubric, group)


def ingest(folder: Path, knowledge: str) -> None:
    """Add a document without a file to the collection `looms`, as `heddle ingest` does."""
    (folder / "warp.md").write_text("Warps are tied to the beam.")
    command = [sys.executable, "-m", "heddle_cli", "ingest", "warp.md", "--collection", "looms"]
    own = {"HEDDLE_IDENTITY_SECRET": SECRET, "HEDDLE_KNOWLEDGE_ADDRESS": knowledge}
    environment = {**os.environ, **own}
    subprocess.run([*command, "--title", "Looms"], check=True, cwd=folder, env=environment)  # noqa: S603 - ours


def test_every_screen_has_an_entry() -> None:
    screens = {each.parent.relative_to(ROUTES).as_posix() for each in ROUTES.rglob("+page.svelte")}
    assert screens == SCREENS.keys() | ELSEWHERE


def test_formats_that_a_screen_promises_are_read() -> None:
    assert {name for name, file in FORMATS.items() if media_type_of(file) == UNKNOWN} == set()


@pytest.mark.parametrize("route", SCREENS)
def test_a_screen_shows_what_the_api_says(world: World, route: str) -> None:
    facts = SCREENS[route]
    identifier = {
        "knowledge": world.collection,
        "rubrics": world.rubric,
        "groups": world.group,
    }.get(route.split("/")[1] if "/" in route else "", world.assistant)
    path = facts.path or re.sub(r"^\(app\)/?", "", route)
    path = path.replace("[id]", identifier).replace("[file]", world.file).replace("[slug]", "uni")
    with world.studio.screen(language="en-GB") as screen:
        screen.open(path)
        for tool in screen.page.locator("[aria-controls$=-options][aria-expanded=false]").all():
            tool.click()
        screen.settle()
        for each in facts.texts(world):  # options of tools are loaded when they are opened
            screen.page.wait_for_function(f"text => ({TEXT})().includes(text)", arg=each)
        shown: str = screen.page.evaluate(TEXT)
        compare(rows_of(screen), facts.rows(world))
        if route not in INTERNAL:
            assert NEVER.findall(shown) == []
        assert screen.messages == []


def rows_of(screen: Screen) -> list[str]:
    """Return the texts of the rows of all tables."""
    return screen.page.locator("main tbody tr").all_inner_texts()


def compare(shown: list[str], expected: list[Row]) -> None:
    """Check that a table has the expected rows, each with all of its texts."""
    for text, row in zip(shown, expected, strict=False):
        assert [each for each in row if each not in text] == [], text
    if expected:
        assert len(shown) == len(expected)
