"""Which assignments somebody has handed in, has to, or has missed."""

import asyncio
import html
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx

from heddle_tools_service.capabilities.moodle import Assignment, Assignments, Course, Status
from heddle_tools_service.providers.moodle.rest import MoodleSite, call_function
from heddle_tools_service.sdk import ToolError

_DAY = 86_400
_AT_ONCE = 8
_END_OF_TIME = 253_402_300_800  # the year 10000, which no datetime knows


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time, in seconds since 1970."""

    now: float
    begin: float
    end: float

    @classmethod
    def around_now(cls, days_past: int, days_future: int) -> "Span":
        """Return some days before and after now."""
        now = time.time()
        return cls(now, now - days_past * _DAY, now + days_future * _DAY)


@dataclass(frozen=True, slots=True)
class _Listed:
    id: int
    name: str
    course: Course
    due: int
    """0 if there is no date."""
    cutoff: int


async def look_at(
    http: httpx.AsyncClient,
    site: MoodleSite,
    user: int,
    courses: Sequence[Course],
    span: Span,
    limit: int,
) -> Assignments:
    """Return what `user` did about the assignments of `courses` in `span`, at most `limit`.

    Raises:
        ToolError: Moodle refuses; for a single assignment that is a warning.
        ToolUnavailableError: Moodle does not answer.
    """
    if not courses:
        return Assignments((), 0, ())
    answer = await call_function(
        http,
        site,
        "mod_assign_get_assignments",
        courseids=[course.id for course in courses],
        includenotenrolledcourses=1,  # the token's own account need not be enrolled
    )
    listed = sorted(_listed(answer, courses, span), key=lambda each: _distance(each, span))
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(each: _Listed) -> Assignment | ToolError | None:
        async with gate:
            try:
                status = await call_function(
                    http, site, "mod_assign_get_submission_status", assignid=each.id, userid=user
                )
            except ToolError as error:
                return error
            return _judged(each, status, span.now)

    outcomes = await asyncio.gather(*map(one, listed[:limit]))
    failures = [each for each in outcomes if isinstance(each, ToolError)]
    if failures and len(failures) == len(outcomes):
        raise failures[0]
    return Assignments(
        tuple(each for each in outcomes if isinstance(each, Assignment)),
        len(listed[limit:]),
        tuple(dict.fromkeys(map(str, failures))),
    )


def _listed(answer: object, courses: Sequence[Course], span: Span) -> Iterator[_Listed]:
    known = {course.id: course for course in courses}
    for course in _list(answer, "courses"):
        of = known.get(_whole(course.get("id")))
        if of is None:  # nobody asked for it
            continue
        for each in _list(course, "assignments"):
            number, due = _whole(each.get("id")), _whole(each.get("duedate"))
            if number and (not due or span.begin <= due <= span.end):
                name = html.unescape(str(each.get("name") or ""))
                cutoff = _whole(each.get("cutoffdate"))
                yield _Listed(number, name, of, due, cutoff)


def _distance(listed: _Listed, span: Span) -> tuple[bool, float]:
    """Return what assignments are ordered by: the nearest first, those without a date last."""
    return not listed.due, abs(listed.due - span.now)


def _judged(listed: _Listed, submission: object, now: float) -> Assignment | None:
    """Return an assignment with its status; None if the person has nothing to hand in."""
    attempt = submission.get("lastattempt") if isinstance(submission, Mapping) else None
    if not isinstance(attempt, Mapping):  # for teachers
        return None
    due = max(listed.due, _whole(attempt.get("extensionduedate"))) if listed.due else 0
    status: Status = "due"
    if _is_completed(attempt):
        status = "completed"
    elif attempt.get("submissionsenabled") is False:  # marked on paper, or in class
        return None
    elif due and due < now:
        status = "missed"
    return Assignment(
        listed.id, listed.name, listed.course, status, _time(due), _time(listed.cutoff)
    )


def _is_completed(attempt: Mapping[str, Any]) -> bool:
    """Return whether somebody, or his group, has handed in, or has a grade."""
    handed_in = (attempt.get("submission"), attempt.get("teamsubmission"))
    return attempt.get("graded") is True or any(
        isinstance(each, Mapping) and each.get("status") == "submitted" for each in handed_in
    )


def _list(answer: object, name: str) -> list[Mapping[str, Any]]:
    items = answer.get(name) if isinstance(answer, Mapping) else None
    if isinstance(items, list) and all(isinstance(each, Mapping) for each in items):
        return items
    raise ToolError(f"Moodle's answer cannot be read: {name} is no list of objects.")


def _whole(value: object) -> int:
    """Return a number or a time of Moodle's; 0 stands for none there, and here for nonsense."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _time(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < _END_OF_TIME else None
