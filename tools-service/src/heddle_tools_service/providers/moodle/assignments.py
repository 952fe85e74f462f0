"""The assignments that a user has completed, must complete, or has missed."""

import asyncio
import html
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from heddle_tools_service.capabilities.moodle import Assignment, Assignments, Course, Status
from heddle_tools_service.providers.moodle.rest import CallFunction, objects, whole
from heddle_tools_service.sdk import ToolError

_DAY = 86_400
_CONCURRENT_CALLS = 8
_END_OF_TIME = 253_402_300_800  # the year 10000, which no datetime knows


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time, in seconds since 1970."""

    now: float
    begin: float
    end: float

    @classmethod
    def around_now(cls, days_past: int, days_future: int) -> "Span":
        """Return the span from `days_past` days ago to `days_future` days ahead."""
        now = time.time()
        return cls(now, now - days_past * _DAY, now + days_future * _DAY)


async def examine(
    call: CallFunction, user: int, courses: Sequence[Course], span: Span, limit: int
) -> Assignments:
    """Return the status of a user's assignments in `courses` that are due in `span`.

    Args:
        call: Calls functions of the site.
        user: The user's number.
        courses: The user's courses.
        span: The span of time. Assignments without a date count, too.
        limit: The most assignments to examine.

    Raises:
        ToolError: Moodle refuses; for a single assignment that is a warning.
        ToolUnavailableError: Moodle does not answer.
    """
    if not courses:
        return Assignments((), 0, ())
    answer = await call(
        "mod_assign_get_assignments",
        courseids=[course.id for course in courses],
        includenotenrolledcourses=1,  # the token's own account need not be enrolled
    )
    listed = sorted(_listed(answer, courses, span), key=lambda each: _distance(each, span.now))
    gate = asyncio.Semaphore(_CONCURRENT_CALLS)

    async def one(each: Assignment) -> Assignment | ToolError | None:
        async with gate:
            try:
                status = await call(
                    "mod_assign_get_submission_status", assignid=each.id, userid=user
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


def _listed(answer: object, courses: Sequence[Course], span: Span) -> Iterator[Assignment]:
    known = {course.id: course for course in courses}
    members = answer if isinstance(answer, Mapping) else {}
    for listed in objects(members.get("courses"), "courses"):
        course = known.get(whole(listed.get("id")))
        if course is None:  # it was not requested
            continue
        for each in objects(listed.get("assignments"), "assignments"):
            number, due = whole(each.get("id")), whole(each.get("duedate"))
            if number and (not due or span.begin <= due <= span.end):
                name = html.unescape(str(each.get("name") or ""))
                cutoff = _time(whole(each.get("cutoffdate")))
                yield Assignment(number, name, course, "due", _time(due), cutoff)


def _distance(assignment: Assignment, now: float) -> tuple[bool, float]:
    """Return the sort key of assignments: the nearest first, those without a date last."""
    due = assignment.due
    return due is None, abs(due.timestamp() - now) if due else 0.0


def _judged(assignment: Assignment, submission: object, now: float) -> Assignment | None:
    """Return an assignment with its status; None if the user has nothing to submit."""
    attempt = submission.get("lastattempt") if isinstance(submission, Mapping) else None
    if not isinstance(attempt, Mapping):  # for teachers
        return None
    extension = _time(whole(attempt.get("extensionduedate")))
    due = max(assignment.due, extension or assignment.due) if assignment.due else None
    status: Status = "due"
    if _is_completed(attempt):
        status = "completed"
    elif attempt.get("submissionsenabled") is False:  # marked on paper, or in class
        return None
    elif due and due.timestamp() < now:
        status = "missed"
    return replace(assignment, status=status, due=due)


def _is_completed(attempt: Mapping[str, Any]) -> bool:
    handed_in = (attempt.get("submission"), attempt.get("teamsubmission"))
    return attempt.get("graded") is True or any(
        isinstance(each, Mapping) and each.get("status") == "submitted" for each in handed_in
    )


def _time(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < _END_OF_TIME else None
