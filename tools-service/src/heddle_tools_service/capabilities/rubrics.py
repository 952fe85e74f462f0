"""Capability: the author's assessment rubrics."""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Rubric:
    """An assessment rubric as it is stored."""

    id: str
    title: str
    data: Any
    """The content: a JSON value, or the text of one."""


class Rubrics(Protocol):
    """The rubrics that the assistant may use."""

    async def get(self, rubric_id: str) -> Rubric | None:
        """Return a rubric; None if it does not exist or the assistant's owner may not read it."""
