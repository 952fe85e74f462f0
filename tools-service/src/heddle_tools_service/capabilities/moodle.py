"""A learning platform, Moodle, as tools see it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Status = Literal["completed", "due", "missed"]


@dataclass(frozen=True, slots=True)
class Course:
    """A course that somebody is enrolled in."""

    id: int
    name: str
    shortname: str
    category: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment, and what somebody did about it."""

    id: int
    name: str
    course: Course
    status: Status
    due: datetime | None
    """With an extension that was granted; None if there is no date."""
    cutoff: datetime | None
    """When late submissions end, if they do."""


@dataclass(frozen=True, slots=True)
class Assignments:
    """The assignments of a span of time, the nearest first."""

    items: tuple[Assignment, ...]
    not_examined: int
    """How many more there are, which were not looked at."""
    warnings: tuple[str, ...]
    """What could not be looked at, one sentence each."""


class Moodle(Protocol):
    """The Moodle of the assistant's organisation, as far as it concerns who asks.

    Each method tells of the person that the request is made for, and of nobody else; each can raise
    `ToolError` (no Moodle is configured, nobody is named, the person is unknown there, Moodle
    refuses) and `ToolUnavailableError` (it does not answer).
    """

    async def user(self) -> int:
        """Return the person's number."""

    async def courses(self) -> tuple[Course, ...]:
        """Return the courses that the person is enrolled in and may see."""

    async def assignments(self, *, days_past: int, days_future: int, limit: int) -> Assignments:
        """Return the person's assignments that are due in a span of days around now, or undated.

        At most `limit` are looked at.
        """
