"""The caller's data in the Moodle of an assistant's organisation."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
from heddle.account.v1.account_pb2 import ResolveSettingsResponse
from heddle_runtime.http.egress import server_address
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.rpc.organization_settings import OrganizationSettings
from heddle_runtime.rpc.ttl_cache import TTLCache

from heddle_tools_service.capabilities.moodle import Assignments, Course
from heddle_tools_service.providers.moodle.assignments import Span, examine
from heddle_tools_service.providers.moodle.rest import (
    CallFunction,
    MoodleSite,
    call_function,
    objects,
    whole,
)
from heddle_tools_service.providers.owner_settings import settings_of
from heddle_tools_service.sdk import Assistant, Caller, ToolError

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
        users = [user for user in objects(answer) if _has_address(user, email)]
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


def _has_address(user: Mapping[str, Any], email: str) -> bool:
    return str(user.get("email", email)).casefold() == email.casefold()


def _identifier(answer: Mapping[str, Any]) -> int:
    if number := whole(answer.get("id")):
        return number
    raise ToolError("Moodle's answer cannot be read: an id is not a number.")
