"""Pages of lists as OpenAI's clients turn them: from one member on."""

from collections.abc import Sequence
from typing import Any

from heddle_gateway.http import query_parameters
from heddle_gateway.http.raw import RawRequest

ORDERS = ("asc", "desc")


def page(
    exchange: RawRequest,
    oldest_first: Sequence[dict[str, Any]],
    *,
    default: int = 20,
    most: int = 100,
) -> dict[str, Any]:
    """Return the page that a query asks for, by `limit`, `order`, `after` and `before`.

    Args:
        exchange: The request.
        oldest_first: All members of the list, each with an `id`.
        default: The length of a page unless the query says another.
        most: The greatest length.

    Raises:
        InvalidRequestError: The query is wrong, or names a member that there is not.
    """
    limit = query_parameters.whole(exchange, "limit", default, low=1, high=most)
    newest_first = query_parameters.choice(exchange, "order", ORDERS) != "asc"
    members = list(reversed(oldest_first)) if newest_first else list(oldest_first)
    if after := query_parameters.text(exchange, "after"):
        members = members[_index(members, after, "after") + 1 :]
    if before := query_parameters.text(exchange, "before"):
        members = members[: _index(members, before, "before")]
        found = members[-limit:]  # those next to it
    else:
        found = members[:limit]
    return {"object": "list", **shown(found), "has_more": len(members) > len(found)}


def shown(members: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what a page says of the members that it shows."""
    return {
        "data": members,
        "first_id": members[0]["id"] if members else None,
        "last_id": members[-1]["id"] if members else None,
    }


def _index(members: Sequence[dict[str, Any]], identifier: str, name: str) -> int:
    for index, member in enumerate(members):
        if member["id"] == identifier:
            return index
    raise query_parameters.wrong(name, "is not in the list")
