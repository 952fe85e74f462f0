"""A Moodle over HTTP, as far as four functions of its web service go."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from web_server import web_server

SERVER = "/webservice/rest/server.php"
EXCEPTION = "core_external\\exception\\moodle_exception"
_ITEM = re.compile(r"(\w+)\[\d+\]")


class RefusedError(Exception):
    """Moodle throws."""

    def __init__(self, errorcode: str, message: str) -> None:
        super().__init__(message)
        self.body = {"exception": EXCEPTION, "errorcode": errorcode, "message": message}


@dataclass
class MoodleServer:
    """Who studies there, and what was asked."""

    token: str = "moodle-token"
    url: str = ""
    users: dict[str, list[int]] = field(default_factory=dict)
    """The numbers of the accounts that have an e-mail address."""
    courses: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """By the number of a user."""
    assignments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """By the number of a course."""
    attempts: dict[tuple[int, int], Any] = field(default_factory=dict)
    """`lastattempt`, or a refusal, by the numbers of an assignment and a user."""
    answer: Any = None
    """What to answer to everything instead: a status, bytes, an address to go to, or JSON."""
    delay: float = 0.0
    calls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def functions(self) -> list[str]:
        return [call["wsfunction"] for call in self.calls]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        assert request.method == "POST"
        assert request.path == SERVER
        assert not request.query_string, "what stands there is logged"
        asked: dict[str, Any] = {}
        for name, value in (await request.post()).items():
            if item := _ITEM.fullmatch(name):
                asked.setdefault(item[1], []).append(value)
            else:
                asked[name] = value
        self.calls.append(asked)
        await asyncio.sleep(self.delay)
        match self.answer:
            case None:
                return self._answered(asked)
            case int():
                return web.Response(status=self.answer, text=f"token {self.token}")
            case str():
                return web.Response(status=303, headers={"Location": self.answer})
            case bytes():
                return web.Response(body=self.answer, content_type="application/json")
            case _:
                return web.json_response(self.answer)

    def _answered(self, asked: dict[str, Any]) -> web.Response:
        assert asked["moodlewsrestformat"] == "json"
        try:
            if asked["wstoken"] != self.token:
                raise RefusedError("invalidtoken", "Invalid token - token not found")  # noqa: TRY301 - as Moodle does
            return web.json_response(_FUNCTIONS[asked["wsfunction"]](self, asked))
        except RefusedError as refusal:
            return web.json_response(refusal.body)  # with the status 200

    def _users(self, asked: dict[str, Any]) -> Any:
        assert asked["field"] == "email"
        [email] = asked["values"]
        return [
            {"id": number, "username": f"u{number}", "fullname": "Somebody", "email": email}
            for number in self.users.get(email.lower(), [])
        ]

    def _courses(self, asked: dict[str, Any]) -> Any:
        return self.courses.get(int(asked["userid"]), [])

    def _assignments(self, asked: dict[str, Any]) -> Any:
        wanted = [int(course) for course in asked["courseids"]]
        listed = [
            {"id": course, "fullname": f"Course {course}", "assignments": self.assignments[course]}
            for course in wanted
            if course in self.assignments
        ]
        return {"courses": listed, "warnings": []}

    def _status(self, asked: dict[str, Any]) -> Any:
        found = self.attempts.get((int(asked["assignid"]), int(asked["userid"])))
        if isinstance(found, RefusedError):
            raise found
        return {"warnings": [], **({"lastattempt": found} if found is not None else {})}


_FUNCTIONS = {
    "core_user_get_users_by_field": MoodleServer._users,  # noqa: SLF001 - its own module
    "core_enrol_get_users_courses": MoodleServer._courses,  # noqa: SLF001 - its own module
    "mod_assign_get_assignments": MoodleServer._assignments,  # noqa: SLF001 - its own module
    "mod_assign_get_submission_status": MoodleServer._status,  # noqa: SLF001 - its own module
}


def course(number: int, name: str, **more: Any) -> dict[str, Any]:
    """Return a course as `core_enrol_get_users_courses` lists it."""
    return {
        "id": number,
        "shortname": f"C{number}",
        "fullname": name,
        "displayname": name,
        "idnumber": "",
        "visible": 1,
        "category": 3,
        "hidden": False,
        **more,
    }


def attempt(status: str = "new", **more: Any) -> dict[str, Any]:
    """Return `lastattempt` as `mod_assign_get_submission_status` tells it."""
    return {
        "submission": {"id": 1, "status": status, "attemptnumber": 0},
        "submissionsenabled": True,
        "locked": False,
        "graded": False,
        "canedit": True,
        "cansubmit": True,
        "extensionduedate": 0,
        "blindmarking": False,
        "gradingstatus": "notgraded",
        "usergroups": [],
        **more,
    }


@asynccontextmanager
async def moodle_site(**options: Any) -> AsyncGenerator[MoodleServer]:
    """Serve a Moodle on a free port."""
    server = MoodleServer(**options)
    async with web_server(server.handle) as server.url:
        yield server
