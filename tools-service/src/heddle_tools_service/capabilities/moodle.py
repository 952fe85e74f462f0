"""Capability: Moodle, a learning platform."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Status = Literal["completed", "due", "missed"]


@dataclass(frozen=True, slots=True)
class Course:
    """A course that the caller is enrolled in."""

    id: int
    name: str
    shortname: str
    category: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment, and its status for the caller."""

    id: int
    name: str
    course: Course
    status: Status
    due: datetime | None
    """The due date, extended if the user has an extension; None if there is none."""
    cutoff: datetime | None
    """The end of late submissions; None if there is none."""


@dataclass(frozen=True, slots=True)
class Assignments:
    """The assignments of a span of time, the nearest first."""

    items: tuple[Assignment, ...]
    not_examined: int
    """The number of further assignments, which were not examined."""
    warnings: tuple[str, ...]
    """Why some assignments could not be examined, one sentence each."""


class Moodle(Protocol):
    """The caller's account in the Moodle of the assistant's organisation.

    Each method reads the caller's data only. Each can raise `ToolError` (no Moodle is configured,
    the request names no user, Moodle does not know the user, Moodle refuses) and
    `ToolUnavailableError` (it does not answer).
    """

    async def user(self) -> int:
        """Return the caller's number."""

    async def courses(self) -> tuple[Course, ...]:
        """Return the courses that the caller is enrolled in and may see."""

    async def assignments(self, *, days_past: int, days_future: int, limit: int) -> Assignments:
        """Return the caller's assignments that are due in a span of days around now, or undated.

        At most `limit` are examined.
        """
