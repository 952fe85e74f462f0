"""The companion of students, with a Moodle that answers as its web services do."""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from examples.example_heddle import Example, example
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle_runtime.rpc.client import channel
from integration.functions.upstream import Upstream, says, scripted
from integration.test_moodle import SECRET, signed
from pydantic import SecretStr
from tools_service.moodle_site import MoodleServer, attempt, course, moodle_site

FILES = ("assistants/moodle-companion.yaml", "plugins/term_week.py")
ANN, BEN = "ann@uni.example", "ben@uni.example"
QUESTION = "What must I hand in?"
ANSWER = "The essay on sheds."
DAY = 86_400


@dataclass(frozen=True)
class University:
    """A Moodle, a model and a key of Ann's."""

    heddle: Example
    site: MoodleServer
    model: Upstream
    key: str


async def key_of(heddle: Example, email: str) -> str:
    """Return a key of a new user."""
    address = heddle.heddle.stack.assistants
    async with channel(address, secret=SecretStr(SECRET)) as connection:
        accounts: Any = account_pb2_grpc.AccountServiceStub(connection)
        user = account_pb2.PutUserRequest(email=email, organization="default", role="creator")
        await accounts.PutUser(user, **signed())
        key = account_pb2.Key(name=email, organization="default", user=email)
        request = account_pb2.CreateKeyRequest(key=key)
        return str((await accounts.CreateKey(request, **signed())).secret)


def assignment(number: int, name: str, days: int) -> dict[str, Any]:
    """Return an assignment that is due in some days."""
    due = int(time.time()) + days * DAY
    return {
        "id": number,
        "cmid": number,
        "course": 1,
        "name": name,
        "duedate": due,
        "cutoffdate": 0,
        "nosubmissions": 0,
        "allowsubmissionsfromdate": 0,
    }


@asynccontextmanager
async def university(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[University]:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    async with (
        moodle_site(users={ANN: [7], BEN: [8]}) as site,
        scripted([[says(ANSWER)]]) as model,
    ):
        site.courses = {7: [course(1, "Weaving I")], 8: [course(3, "Secrets of Ben")]}
        site.assignments = {1: [assignment(11, "Essay on sheds", 3), assignment(12, "Warp", -3)]}
        site.attempts = {(11, 7): attempt(), (12, 7): attempt("submitted")}
        monkeypatch.setenv("HEDDLE_TOOLS_MOODLE_URL", site.url)
        monkeypatch.setenv("HEDDLE_TOOLS_MOODLE_TOKEN", site.token)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", model.url)
        async with example(folder, *FILES) as heddle:
            yield University(heddle, site, model, await key_of(heddle, ANN))


@pytest.fixture
async def uni(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[University]:
    async with university(tmp_path, monkeypatch) as here:
        yield here


async def test_it_knows_what_moodle_says_about_the_one_who_asks(uni: University) -> None:
    answers = await uni.heddle.ask("12", QUESTION, uni.key)

    for answer in answers:
        assert (answer.text, answer.error, answer.warnings) == (ANSWER, {}, [])
        assert set(answer.outcomes.values()) == {"used"}
    system, user = uni.model.bodies[0]["messages"]
    assert system["content"].startswith("You help students to keep up with their courses.")
    today, _, rest = user["content"].strip().partition("\n\n\nCourses:\n\n")
    courses, _, rest = rest.partition("\n\n\nAssignments:\n\n")
    assignments, _, question = rest.partition("\n\n\nQuestion:\n\n")
    assert today.startswith("Today is ")
    assert [each["name"] for each in json.loads(courses)["courses"]] == ["Weaving I"]
    listed = json.loads(assignments)
    assert [each["name"] for each in listed["due"]] == ["Essay on sheds"]
    assert [each["name"] for each in listed["completed"]] == ["Warp"]
    assert question == QUESTION
    assert {call["userid"] for call in uni.site.calls if "userid" in call} == {"7"}


@pytest.mark.exhaustive
async def test_each_reason_why_moodle_tells_nothing_is_the_answer(uni: University) -> None:
    without_user = await uni.heddle.ask("12", QUESTION)
    uni.site.token = "another"
    refused = await uni.heddle.ask("12", QUESTION, uni.key)
    uni.site.answer = 503
    away = await uni.heddle.ask("12", QUESTION, uni.key)

    messages = [answer.error["message"].partition(" (request ")[0] for answer in without_user]
    assert messages[0].startswith("The request names no user, so Moodle cannot be asked.")
    assert messages[0] == messages[1]
    for answer in refused:
        assert "(invalidtoken): Invalid token - token not found" in answer.error["message"]
    for answer in away:
        assert answer.error["message"].startswith("Moodle answered 503.")
    assert uni.model.bodies == []
