"""What Moodle tells of the person who asks, and of nobody else."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from heddle_runtime.ttl_cache import TTLCache

from heddle_tools_service.capabilities.moodle import Assignments, Course
from heddle_tools_service.providers.moodle.assignments import Span, look_at
from heddle_tools_service.providers.moodle.rest import MoodleSite, call_function
from heddle_tools_service.providers.moodle.sites import SiteOf
from heddle_tools_service.sdk import Assistant, Caller, ToolError

REMEMBERED = 60.0
"""Seconds for which an account that was found is not looked for again."""


def _numbers() -> TTLCache[tuple[MoodleSite, str], int]:
    return TTLCache(REMEMBERED)


@dataclass(frozen=True, slots=True)
class Moodles:
    """The Moodles of all organisations."""

    http: httpx.AsyncClient
    """For the operator's."""
    guarded_http: httpx.AsyncClient
    """For organisations' own: it goes only where an organisation may send it."""
    site_of: SiteOf
    numbers: TTLCache[tuple[MoodleSite, str], int] = field(default_factory=_numbers)

    def of(self, assistant: Assistant, caller: Caller) -> "OwnAccount":
        """Return the account of `caller` in the Moodle of `assistant`."""
        return OwnAccount(self, assistant, caller)

    def client(self, site: MoodleSite) -> httpx.AsyncClient:
        """Return what reaches a site."""
        return self.guarded_http if site.guarded else self.http


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """One person's account. Who that is comes from the signed identity alone."""

    moodles: Moodles
    assistant: Assistant
    caller: Caller

    async def user(self) -> int:
        """Return the person's number; see `heddle_tools_service.lms.Moodle`."""
        _, number = await self._account()
        return number

    async def courses(self) -> tuple[Course, ...]:
        """Return the person's courses."""
        site, number = await self._account()
        return await self._courses(site, number)

    async def assignments(self, *, days_past: int, days_future: int, limit: int) -> Assignments:
        """Return the person's assignments of some days before and after now."""
        site, number = await self._account()
        courses = await self._courses(site, number)
        span = Span.around_now(days_past, days_future)
        return await look_at(self.moodles.client(site), site, number, courses, span, limit)

    async def _account(self) -> tuple[MoodleSite, int]:
        site = await self.moodles.site_of(self.assistant, self.caller)
        email = self.caller.subject
        # A client that names somebody by an id of its own does not speak for the key's owner.
        if "@" not in email or self.caller.client_user:
            raise ToolError(
                "The request is made in nobody's name, so there is nobody to ask Moodle about. "
                "Use a key of a user, or a trusted key and the header X-OpenWebUI-User-Email.",
                kind="no_user",
            )
        key = (site, email)
        return site, await self.moodles.numbers.get(key, lambda: self._number(site, email))

    async def _number(self, site: MoodleSite, email: str) -> int:
        answer = await call_function(
            self.moodles.client(site),
            site,
            "core_user_get_users_by_field",
            field="email",
            values=[email],
        )
        users = [user for user in _objects(answer) if _has_address(user, email)]
        if len(users) != 1:
            raise ToolError(
                "Moodle has several accounts with your e-mail address."
                if users
                else "Moodle knows no account with your e-mail address.",
                kind="unknown_user",
            )
        return _integer(users[0].get("id"))

    async def _courses(self, site: MoodleSite, number: int) -> tuple[Course, ...]:
        answer = await call_function(
            self.moodles.client(site), site, "core_enrol_get_users_courses", userid=number
        )
        # The token may see more than the person may: hidden courses are not shown.
        return tuple(_course(each) for each in _objects(answer) if each.get("visible", 1))


def _course(course: Mapping[str, Any]) -> Course:
    category = course.get("categoryname") or course.get("category") or ""
    return Course(
        _integer(course.get("id")),
        html.unescape(str(course.get("fullname") or "")),
        html.unescape(str(course.get("shortname") or "")),
        html.unescape(str(category)),
    )


def _has_address(user: Mapping[str, Any], email: str) -> bool:
    """Return whether an account is of an address; Moodle leaves out what the token may not see."""
    return str(user.get("email", email)).casefold() == email.casefold()


def _objects(answer: object) -> list[Mapping[str, Any]]:
    if isinstance(answer, list) and all(isinstance(each, Mapping) for each in answer):
        return answer
    raise ToolError("Moodle's answer cannot be read: it is no list of objects.")


def _integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ToolError("Moodle's answer cannot be read: an id is no number.")
