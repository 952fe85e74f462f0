"""Pages of lists as OpenAI's clients request them: after or before a member."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

from pydantic import Field

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Model


class Member(Protocol):
    """A member of a list."""

    id: str


MemberT = TypeVar("MemberT", bound=Member)


class PageQuery(Model):
    """The query of a list."""

    limit: int = Field(default=20, ge=1, le=100, description="The maximum number of members.")
    order: Literal["asc", "desc"] = Field(
        default="desc", description="By creation time; the newest first by default."
    )
    after: str = Field(
        default="", description="The identifier of the member before the page.", examples=[""]
    )
    before: str = Field(
        default="", description="The identifier of the member after the page.", examples=[""]
    )


class Page(Model):
    """A page of a list, without its members."""

    object: Literal["list"] = "list"
    first_id: str | None
    last_id: str | None = Field(description="The value of `after` for the next page.")
    has_more: bool


def select(query: PageQuery, oldest_first: Sequence[MemberT]) -> tuple[list[MemberT], bool]:
    """Return the members of the requested page, and whether more members follow.

    Raises:
        InvalidRequestError: The query names a member that is not in the list.
    """
    members = list(oldest_first) if query.order == "asc" else list(reversed(oldest_first))
    if query.after:
        members = members[_index(members, query.after, "after") + 1 :]
    if query.before:
        members = members[: _index(members, query.before, "before")]
        selected = members[-query.limit :]  # the members next to it
    else:
        selected = members[: query.limit]
    return selected, len(members) > len(selected)


def bounds(members: Sequence[Member]) -> dict[str, Any]:
    """Return the first and the last identifier of a page."""
    return {
        "first_id": members[0].id if members else None,
        "last_id": members[-1].id if members else None,
    }


def _index(members: Sequence[Member], identifier: str, name: str) -> int:
    for index, member in enumerate(members):
        if member.id == identifier:
            return index
    raise invalid(name, "is not in the list", "The query parameter")
