"""The tool `moodle_assignments`, through the whole service, against a fake Moodle."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from heddle.account.v1 import account_pb2
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.callers import Identity
from runtime.accounts import Accounts
from tools_service.calling import Calling, calling_tools
from tools_service.moodle_site import MoodleServer, RefusedError, attempt, course, moodle_site
from tools_service.serving import said

ANN = "ann@uni.example"
ASKED = ("moodle_assignments", "get_moodle_assignments_status")
AS_ANN: dict[str, Any] = {
    "context": said("?", organization="uni"),
    "identity": Identity(ANN, "uni"),
}
DAY = 86_400
NOW = int(time.time())


@pytest.fixture
async def site() -> AsyncIterator[MoodleServer]:
    async with moodle_site() as server:
        server.users = {ANN: [7]}
        server.courses = {7: [course(1, "Looms"), course(2, "Knots")]}
        yield server


@pytest.fixture
async def tools(site: MoodleServer, tmp_path: Path) -> AsyncIterator[Calling]:
    accounts = Accounts()  # type: ignore[abstract] # it does not offer every method
    accounts.add("uni", moodle=account_pb2.Moodle(url=site.url, token=site.token))
    async with calling_tools(tmp_path, accounts) as calling:
        yield calling


def assignment(number: int, days: float | None, **more: Any) -> dict[str, Any]:
    """Return an assignment that is due in some days, as `mod_assign_get_assignments` lists it."""
    due = 0 if days is None else NOW + int(days * DAY)
    made = {"id": number, "cmid": number + 100, "name": f"A{number}", "duedate": due}
    return {**made, "cutoffdate": 0, "nosubmissions": 0, **more}


def names(answer: dict[str, Any]) -> dict[str, list[str]]:
    statuses = ("completed", "due", "missed")
    return {status: [each["name"] for each in answer[status]] for status in statuses}


async def test_assignments_are_completed_due_or_missed(tools: Calling, site: MoodleServer) -> None:
    site.assignments = {
        1: [assignment(1, 2), assignment(2, -2), assignment(3, -3), assignment(4, 4)],
        2: [assignment(5, None), assignment(6, -5), assignment(7, -6), assignment(8, 7)],
    }
    site.attempts = {
        (1, 7): attempt("draft"),
        (2, 7): attempt("new"),
        (3, 7): attempt("submitted"),
        (4, 7): attempt("new", graded=True, gradingstatus="graded"),
        (5, 7): attempt("reopened"),
        (6, 7): attempt(submission=None, teamsubmission={"status": "submitted"}),
        (7, 7): attempt("new", extensionduedate=NOW + DAY),
        (8, 7): None,  # Ann teaches there
    }

    answer = await tools.answer(*ASKED, **AS_ANN)

    assert names(answer) == {
        "completed": ["A3", "A4", "A6"],
        "due": ["A1", "A7", "A5"],
        "missed": ["A2"],
    }
    assert answer["counts"] == {"completed": 3, "due": 3, "missed": 1}
    assert answer["success"] is True
    assert {call["userid"] for call in site.calls if "userid" in call} == {"7"}


async def test_an_assignment_is_told_with_its_course_and_times(
    tools: Calling, site: MoodleServer
) -> None:
    site.assignments = {1: [assignment(1, 5, cutoffdate=NOW + 6 * DAY)]}
    site.attempts = {(1, 7): attempt()}
    answer = await tools.answer(*ASKED, **AS_ANN)
    assert answer["due"] == [
        {
            "id": 1,
            "name": "A1",
            "course": "Looms",
            "due": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(NOW + 5 * DAY)),
            "cutoff": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(NOW + 6 * DAY)),
        }
    ]


async def test_only_the_days_that_are_asked_for_count(tools: Calling, site: MoodleServer) -> None:
    days = [-40, -20, -5, 5, 20, 40, None]
    site.assignments = {1: [assignment(number, day) for number, day in enumerate(days, 1)]}
    site.attempts = {(number, 7): attempt() for number in range(1, 8)}

    usual = await tools.answer(*ASKED, **AS_ANN)
    narrow = await tools.answer(*ASKED, **AS_ANN, days_past=0, days_future=10)

    assert names(usual) == {
        "completed": [],
        "due": ["A4", "A5", "A7"],
        "missed": ["A3", "A2"],
    }
    assert names(narrow) == {"completed": [], "due": ["A4", "A7"], "missed": []}


async def test_at_most_forty_are_looked_at_the_nearest_first(
    tools: Calling, site: MoodleServer
) -> None:
    site.assignments = {1: [assignment(number, number / 10) for number in range(60, 0, -1)]}
    site.attempts = {(number, 7): attempt() for number in range(61)}

    most = await tools.answer(*ASKED, **AS_ANN)
    few = await tools.answer(*ASKED, **AS_ANN, limit=2)

    assert names(most)["due"] == [f"A{number}" for number in range(1, 41)]
    assert most["not_looked_at"] == 20
    assert names(few)["due"] == ["A1", "A2"]
    assert site.functions.count("mod_assign_get_submission_status") == 42


async def test_one_that_cannot_be_looked_at_leaves_the_others(
    tools: Calling, site: MoodleServer
) -> None:
    site.assignments = {1: [assignment(1, 1), assignment(2, 2)]}
    denied = RefusedError("nopermission", "Sorry, you cannot view this")
    site.attempts = {(1, 7): denied, (2, 7): attempt()}

    result = await tools.call(*ASKED, **AS_ANN)

    assert '"A2"' in result.parts[0].text
    [warning] = result.warnings
    assert "nopermission" in warning


async def test_if_none_can_be_looked_at_that_is_an_error(
    tools: Calling, site: MoodleServer
) -> None:
    site.assignments = {1: [assignment(1, 1)]}
    site.attempts = {(1, 7): RefusedError("nopermission", "Sorry, you cannot view this")}
    error = await tools.failure(*ASKED, **AS_ANN)
    assert "(nopermission)" in error.message


async def test_nonsense_about_one_of_them_is_no_harm(tools: Calling, site: MoodleServer) -> None:
    site.assignments = {1: [assignment(1, None, duedate="soon", cutoffdate=10**18)]}
    site.attempts = {(1, 7): attempt(extensionduedate=None, submission=[], graded="yes")}
    answer = await tools.answer(*ASKED, **AS_ANN)
    [due] = answer["due"]
    assert (due["name"], due["due"], due["cutoff"]) == ("A1", None, None)


async def test_where_nothing_can_be_handed_in_nothing_is_missed(
    tools: Calling, site: MoodleServer
) -> None:
    site.assignments = {1: [assignment(1, -1), assignment(2, 1), assignment(3, -2)]}
    offline: dict[str, Any] = {"submissionsenabled": False, "submission": None}
    site.attempts = {(1, 7): attempt(**offline), (2, 7): attempt(**offline)}
    site.attempts[3, 7] = attempt(**offline, graded=True)
    answer = await tools.answer(*ASKED, **AS_ANN)
    assert names(answer) == {"completed": ["A3"], "due": [], "missed": []}


async def test_an_assignment_without_a_number_is_passed_over(
    tools: Calling, site: MoodleServer
) -> None:
    site.assignments = {1: [{**assignment(1, 1), "id": number} for number in (None, True, "2")]}
    await tools.answer(*ASKED, **AS_ANN)
    assert "mod_assign_get_submission_status" not in site.functions


async def test_who_has_no_courses_has_no_assignments(tools: Calling, site: MoodleServer) -> None:
    site.courses = {}
    answer = await tools.answer(*ASKED, **AS_ANN)
    assert answer["counts"] == {"completed": 0, "due": 0, "missed": 0}
    assert "mod_assign_get_assignments" not in site.functions


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": 41}, {"days_past": -1}, {"days_future": "soon"}]
)
async def test_wrong_arguments_are_refused(
    tools: Calling, site: MoodleServer, wrong: dict[str, Any]
) -> None:
    error = await tools.failure(*ASKED, **AS_ANN, **wrong)
    assert isinstance(error, InvalidRequestError)
    assert [each.field for each in error.violations] == [f"arguments.{name}" for name in wrong]
    assert not site.calls
