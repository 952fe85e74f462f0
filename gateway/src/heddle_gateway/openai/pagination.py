"""Pages of lists as OpenAI's clients request them: after or before a member."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

from pydantic import Field, computed_field

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
    """A page of a list."""

    object: Literal["list"] = "list"
    data: list[Any]
    has_more: bool

    @computed_field  # type: ignore[prop-decorator] # pydantic documents it like this
    @property
    def first_id(self) -> str | None:
        """The identifier of the first member."""
        return self.data[0].id if self.data else None

    @computed_field  # type: ignore[prop-decorator] # pydantic documents it like this
    @property
    def last_id(self) -> str | None:
        """The value of `after` for the next page."""
        return self.data[-1].id if self.data else None


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


def _index(members: Sequence[Member], identifier: str, name: str) -> int:
    for index, member in enumerate(members):
        if member.id == identifier:
            return index
    raise invalid(name, "is not in the list", "The query parameter")
