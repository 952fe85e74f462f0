"""A course: who may reach what learners ask, and what is left of what they delete."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from backup.filled import environment, members, run
from integration.browser import browser
from integration.people.traces import traces
from integration.whole import whole

CANARY = "quetzalcoatlus"
"""A word that only the learner may see."""
COURSE = "Weaving for pterosaurs"
"""The title of the group."""
ROLES = {
    "learner": ("leo@uni.example", "uni", []),
    "classmate": ("mia@uni.example", "uni", []),
    "third": ("zoe@uni.example", "uni", []),
    "teacher": ("ana@uni.example", "uni", ["creator"]),
    "other teacher": ("bea@uni.example", "uni", ["creator"]),
    "learner of another group": ("noa@uni.example", "uni", []),
    "administrator": ("head@uni.example", "uni", ["organization_admin"]),
    "operator": ("operator", "default", ["admin"]),
    "teacher elsewhere": ("ivo@college.example", "college", ["creator"]),
    "administrator elsewhere": ("dean@college.example", "college", ["organization_admin"]),
}
LEARNERS = ("learner", "classmate", "third")
OWN = {"learner"}
"""The only user who may reach a conversation."""
TEACHING = {"teacher", "administrator", "operator"}
"""Those who manage the group, and read the counts of its assistant."""
ABOUT = re.compile(r"/v1/(conversations|responses)|/groups|/insights")
"""The paths of routes about what learners ask. `test_14_cross_tenant.py` has all others."""
BODIES: dict[str, dict[str, Any]] = {
    "POST /v1/conversations/{id}": {"title": "Stolen"},
    "POST /v1/conversations/{id}/items": {"items": [{"role": "user", "content": "Stolen"}]},
    "PUT /v1/conversations/{conversation}/items/{id}/feedback": {"rating": -1},
    "PUT /groups/{id}": {"title": "Stolen", "teachers": ["ana@uni.example"]},
    "POST /groups/{id}/members": {"emails": ["stolen@uni.example"]},
    "POST /groups/{id}/code": {"uses": 1},
}
FREE = {
    *("GET /v1/conversations", "POST /v1/conversations", "POST /v1/responses"),
    *("POST /v1/responses/compact", "GET /groups", "POST /groups", "POST /groups/join"),
}
"""Routes that name nothing: each caller may use them, and sees only what is the caller's."""
OTHERS = {
    "GET /groups/{id}": {*LEARNERS},
    "DELETE /groups/{group}/members/{email}": {"classmate"},
}
"""Learners see what their group is called and may leave it."""
DESTROYING = re.compile(r"DELETE|POST .*/cancel|PUT /groups|POST /groups/\{id\}/code")


@dataclass
class Course:
    """A running Heddle with a course, and a client of each role."""

    folder: Path
    clients: dict[str, httpx.AsyncClient]
    ids: dict[str, str] = field(default_factory=dict)

    async def send(self, role: str, route: str, **more: Any) -> httpx.Response:
        """Call `METHOD /path` with the identifiers of the course."""
        method, path = route.split(" ")
        if path.startswith("/v1/conversations/{id}"):
            path = path.replace("{id}", "{conversation}")
        if path.startswith("/v1/responses/{id}"):
            path = path.replace("{id}", "{response}")
        if path.startswith("/groups/{id}"):
            path = path.replace("{id}", "{group}")
        if body := BODIES.get(route):
            more["json"] = body
        return await self.clients[role].request(method, path.format_map(self.ids), **more)


def _key(role: str) -> str:
    return f"lamb_{role.replace(' ', '_')}_0123456789abcdef"


async def _sent(client: httpx.AsyncClient, method: str, path: str, **more: Any) -> Any:
    response = await client.request(method, path, **more)
    assert response.is_success, f"{method} {path}: {response.text}"
    return response.json()


@asynccontextmanager
async def course(folder: Path) -> AsyncIterator[Course]:
    """Run Heddle with a teacher's course, in which three learners have asked."""
    keys = folder / "keys.json"
    principals = {
        _key(role): {"subject": subject, "organization": slug, "scopes": scopes}
        for role, (subject, slug, scopes) in ROLES.items()
    }
    keys.write_text(json.dumps(principals))
    async with (
        whole(folder, "local", development=False, api_keys=keys) as heddle,
        AsyncExitStack() as exits,
    ):
        clients = {
            role: await exits.enter_async_context(browser(heddle.url, _key(role), 60))
            for role in ROLES
        }
        it = Course(folder, clients)
        await _begin(it)
        yield it


async def _begin(it: Course) -> None:
    teacher, operator = it.clients["teacher"], it.clients["operator"]
    for slug in ("uni", "college"):
        settings = {"name": slug, "settings": {"retention": {"questions_days": 30}}}
        await _sent(operator, "PUT", f"/organizations/{slug}", json=settings)
    for subject, slug, scopes in ROLES.values():
        roles = {"creator": "creator", "organization_admin": "admin"}
        role = roles.get("".join(scopes), "member")
        if slug != "default":
            path = f"/organizations/{slug}/users/{subject}"
            await _sent(operator, "PUT", path, json={"role": role})
    model = {"connector": "bypass", "model": "simple-bypass"}
    assistant = await _sent(teacher, "POST", "/assistants", json={"name": "t", "model": model})
    group = await _sent(
        teacher, "POST", "/groups", json={"title": COURSE, "assistants": [assistant["id"]]}
    )
    other = await _sent(it.clients["other teacher"], "POST", "/groups", json={"title": "Dyeing"})
    for each, names in ((group, LEARNERS), (other, ("learner of another group",))):
        owner = teacher if each is group else it.clients["other teacher"]
        emails = [ROLES[name][0] for name in names]
        await _sent(owner, "POST", f"/groups/{each['id']}/members", json={"emails": emails})
    it.ids = {
        "assistant": assistant["id"],
        "group": group["id"],
        "email": ROLES["classmate"][0],
        "index": "0",
    }
    for role in LEARNERS:
        word = CANARY if role == "learner" else role
        results = await ask(it, role, f"What is a {word} of the loom?")
        it.ids = results | it.ids
    it.ids |= await ask(it, "learner", f"When does a {CANARY} weave at the loom?")


async def ask(it: Course, role: str, text: str) -> dict[str, str]:
    """Ask the assistant of the course, and return the new identifiers."""
    client = it.clients[role]
    conversation = (await _sent(client, "POST", "/v1/conversations", json={}))["id"]
    body = {
        "model": f"lamb_assistant.{it.ids['assistant']}",
        "input": text,
        "conversation": {"id": conversation, "informed": True},
    }
    response = await _sent(client, "POST", "/v1/responses", json=body)
    path = f"/v1/conversations/{conversation}/items"
    items = (await _sent(client, "GET", path, params={"order": "asc"}))["data"]
    item = items[-1]["id"]
    await _sent(client, "PUT", f"{path}/{item}/feedback", json={"rating": 1, "text": text})
    return {"conversation": conversation, "response": response["id"], "id": item}


def _routes(document: dict[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        if ABOUT.search(path):
            yield from (f"{method.upper()} {path}" for method in methods)


async def _lists(it: Course, route: str) -> list[str]:
    """Return what is wrong with the lists of a route: each caller's own things, and no others."""
    own = OWN if "/v1/" in route else TEACHING | {*LEARNERS}
    word = it.ids["conversation" if "/v1/" in route else "group"]
    wrong = []
    for role in ROLES:
        response = await it.send(role, route, params={"text": "loom"})
        if response.is_success and (word in response.text) != (role in own):
            wrong.append(f"{route}, {role}: {response.text[:300]}")
    return wrong


async def _refusals(it: Course, route: str) -> list[str]:
    """Return what is wrong with the answers to those who may not call a route."""
    may = (OWN if "/v1/" in route else TEACHING) | OTHERS.get(route, set())
    hidden = (CANARY, COURSE, *(ROLES[role][0] for role in LEARNERS if role != "classmate"))
    wrong = []
    for role in ROLES.keys() - may:
        response = await it.send(role, route)
        if response.status_code not in (403, 404) or any(each in response.text for each in hidden):
            wrong.append(f"{route}, {role}: {response.status_code} {response.text[:300]}")
    return wrong


async def _grants(it: Course, route: str) -> list[str]:
    """Return what is wrong with the answers to those who may call a route."""
    wrong = []
    for role in OWN if "/v1/" in route else ("teacher",) if DESTROYING.search(route) else TEACHING:
        response = await it.send(role, route)
        if not response.is_success and "/results/" not in route:  # the answer cites no page
            wrong.append(f"{route}, {role}: {response.status_code} {response.text[:300]}")
    return wrong


async def test_nobody_reaches_what_is_not_theirs(tmp_path: Path) -> None:
    wrong = []
    async with course(tmp_path) as it:
        document = await _sent(it.clients["operator"], "GET", "/openapi.json")
        routes = sorted(_routes(document), key=_order)
        assert set(routes) > FREE | BODIES.keys()
        named = [each for each in routes if each not in FREE]
        assert len(named) >= 20
        for route in FREE:
            wrong += await _lists(it, route) if route.startswith("GET") else []
        for route in named:
            wrong += await _refusals(it, route)
        for route in named:
            wrong += await _grants(it, route) if not route.endswith("/cancel") else []
    assert wrong == [], "\n".join(wrong)


def _order(route: str) -> tuple[bool, int]:
    """Return the place of a route: what deletes comes last, the parts before the whole."""
    return bool(DESTROYING.search(route)), -route.count("/")


async def test_a_deleted_conversation_is_gone_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    monkeypatch.setenv("HEDDLE_ASSISTANTS_CLEANUP_SECONDS", "1")
    for name in ("KEY_PEPPER", "ENCRYPTION_KEY"):
        secret = "a-secret-of-at-least-32-characters"
        monkeypatch.setenv(f"HEDDLE_ASSISTANTS_{name}", f"{secret}-{name}")
    settings = environment(installed)

    def seen(*words: str) -> list[str]:
        return [each for each in traces(installed, *words) if "heddle.db" in each]

    async with course(installed) as it:
        learner, teacher = it.clients["learner"], it.clients["teacher"]
        ids = [it.ids[each] for each in ("conversation", "response", "id")]
        words = f"When does a {CANARY} weave at the loom?"
        path = "/groups/{group}/insights/questions".format_map(it.ids)
        results = await _sent(learner, "GET", "/v1/conversations", params={"text": "weave"})
        assert [each["id"] for each in results["data"]] == ids[:1]
        assert words in [each["text"] for each in (await _sent(teacher, "GET", path))["questions"]]
        assert seen(*ids), "the test sees nothing of the conversation"
        assert seen(words), "the test sees nothing of the question"
        before = await asyncio.to_thread(_backup, tmp_path / "before.tar", settings, monkeypatch)
        assert any(each.encode() in before for each in ids)

        await _sent(learner, "DELETE", f"/v1/conversations/{ids[0]}")
        for route in ("GET /v1/conversations/{id}", "GET /v1/responses/{id}"):
            assert (await it.send("learner", route)).status_code == 404
        for word in ("weave", CANARY):
            results = await _sent(learner, "GET", "/v1/conversations", params={"text": word})
            assert ids[0] not in str(results)
        assert words not in str(await _sent(teacher, "GET", path))
        async with asyncio.timeout(60):
            while left := await asyncio.to_thread(seen, *ids, words):
                await asyncio.sleep(0.5)
        assert left == []
        after = await asyncio.to_thread(_backup, tmp_path / "after.tar", settings, monkeypatch)
    assert not any(each.encode() in after for each in (*ids, words))


def _backup(archive: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Make a backup and return all that it holds."""
    run(f"backup {archive}", settings, monkeypatch)
    return b"\n".join(members(archive).values())
