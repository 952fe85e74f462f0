"""The caller's data in the Moodle of an assistant's organisation."""

import asyncio
import html
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx
from heddle.account.v1.account_pb2 import ResolveSettingsResponse
from heddle_runtime.http.egress import server_address
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.rpc.organization_settings import OrganizationSettings
from heddle_runtime.rpc.ttl_cache import TTLCache

from heddle_tools_service.capabilities.moodle import Assignment, Assignments, Course, Status
from heddle_tools_service.providers.moodle.rest import (
    CallFunction,
    MoodleSite,
    call_function,
    objects,
    whole,
)
from heddle_tools_service.providers.owner_settings import settings_of
from heddle_tools_service.sdk import Assistant, Caller, ToolError

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


CONFIGURATION_ERROR = "Moodle configuration error:"
NOT_CONFIGURED = "MOODLE_API_URL or MOODLE_TOKEN not configured"
"""Users of older installations know this message."""
_REMEDY = (
    "Set moodle, with url and token, in the settings of the organisation; for the operator's own "
    "assistants, set HEDDLE_TOOLS_MOODLE_URL and HEDDLE_TOOLS_MOODLE_TOKEN."
)
_ACCOUNT_SECONDS = 60.0
"""The time for which the number of an account is cached."""


@dataclass(frozen=True, slots=True)
class Moodles:
    """The Moodle sites of all organisations."""

    http: httpx.AsyncClient
    """For the operator's site."""
    guarded_http: httpx.AsyncClient
    """For sites of organisations: connects to permitted addresses only."""
    settings: OrganizationSettings | None
    """None if no service has settings of organisations."""
    operators: MoodleSite | None
    """The site in the service's own settings, for the operator's organisation only."""
    numbers: TTLCache[tuple[MoodleSite, str], int] = field(
        default_factory=lambda: TTLCache(_ACCOUNT_SECONDS)
    )

    async def site(self, assistant: Assistant, caller: Caller) -> MoodleSite:
        """Return the Moodle of an assistant's organisation.

        Raises:
            ToolError: There is none, or the caller belongs to another organisation.
            ToolUnavailableError: The settings cannot be read.
        """
        settings = await settings_of(self.settings, assistant, CONFIGURATION_ERROR)
        if self.settings is not None:
            _check_organization(settings, caller)
        if settings.HasField("moodle") and settings.moodle.url and settings.moodle.token:
            try:
                url = server_address(settings.moodle.url)
            except ValueError as error:
                raise ToolError(
                    f"{CONFIGURATION_ERROR} the address of your organisation's Moodle is not valid."
                    " Ask its administrator.",
                    diagnosis=f"moodle.url in the organisation's settings {error}",
                ) from None
            return MoodleSite(url, settings.moodle.token, guarded=not settings.system)
        if self.operators is None or not settings.system:
            raise ToolError(NOT_CONFIGURED, kind="not_configured", diagnosis=_REMEDY)
        return self.operators


def _check_organization(settings: ResolveSettingsResponse, caller: Caller) -> None:
    organization = settings.organization or DEFAULT_ORGANIZATION
    callers = caller.organization or DEFAULT_ORGANIZATION
    # A key identifies users of its own organisation only; another organisation's Moodle may know
    # another user by the same e-mail address.
    if callers != organization and not (settings.system and callers == DEFAULT_ORGANIZATION):
        raise ToolError(
            f"{CONFIGURATION_ERROR} the assistant belongs to another organisation, whose Moodle "
            "you cannot use",
            kind="other_organization",
        )


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """The caller's account: the capability `Moodle`. The signed identity decides whose it is."""

    moodles: Moodles
    assistant: Assistant
    caller: Caller

    async def user(self) -> int:
        """Return the caller's number."""
        _, number = await self._account()
        return number

    async def courses(self) -> tuple[Course, ...]:
        """Return the caller's courses."""
        site, number = await self._account()
        return await self._courses(site, number)

    async def assignments(self, *, days_past: int, days_future: int, limit: int) -> Assignments:
        """Return the caller's assignments of some days before and after now."""
        site, number = await self._account()
        courses = await self._courses(site, number)
        span = Span.around_now(days_past, days_future)
        return await examine(self._caller_of(site), number, courses, span, limit)

    async def _account(self) -> tuple[MoodleSite, int]:
        site = await self.moodles.site(self.assistant, self.caller)
        email = self.caller.subject
        # A client that names a user by an id of its own does not speak for the key's owner.
        if "@" not in email or self.caller.client_user:
            raise ToolError(
                "The request names no user, so Moodle cannot be asked. Use a key of a user, or a "
                "trusted key and the header X-OpenWebUI-User-Email.",
                kind="no_user",
            )
        key = (site, email)
        return site, await self.moodles.numbers.get(key, lambda: self._number(site, email))

    async def _number(self, site: MoodleSite, email: str) -> int:
        call = self._caller_of(site)
        answer = await call("core_user_get_users_by_field", field="email", values=[email])
        users = [
            user
            for user in objects(answer)
            if (str(user.get("email", email)).casefold() == email.casefold())
        ]
        if len(users) != 1:
            raise ToolError(
                "Moodle has several accounts with your e-mail address."
                if users
                else "Moodle knows no account with your e-mail address.",
                kind="unknown_user",
            )
        return _identifier(users[0])

    async def _courses(self, site: MoodleSite, number: int) -> tuple[Course, ...]:
        answer = await self._caller_of(site)("core_enrol_get_users_courses", userid=number)
        # The token may see more than the user may: hidden courses are not shown.
        return tuple(_course(each) for each in objects(answer) if each.get("visible", 1))

    def _caller_of(self, site: MoodleSite) -> CallFunction:
        http = self.moodles.guarded_http if site.guarded else self.moodles.http
        return partial(call_function, http, site)


def _course(course: Mapping[str, Any]) -> Course:
    category = course.get("categoryname") or course.get("category") or ""
    return Course(
        _identifier(course),
        html.unescape(str(course.get("fullname") or "")),
        html.unescape(str(course.get("shortname") or "")),
        html.unescape(str(category)),
    )


def _identifier(answer: Mapping[str, Any]) -> int:
    if number := whole(answer.get("id")):
        return number
    raise ToolError("Moodle's answer cannot be read: an id is not a number.")
