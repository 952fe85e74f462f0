"""Pages of stored items."""

from typing import Any, Literal

import msgspec
from heddle.conversation.v1 import conversation_pb2 as pb
from pydantic import Field

from heddle_gateway.http.models import Model


class ItemQuery(Model):
    """The query of a list of items."""

    limit: int = Field(default=20, ge=1, le=100, description="The maximum number of items.")
    order: Literal["asc", "desc"] = Field(
        default="desc", description="The newest first by default."
    )
    after: str = Field(
        default="", description="The identifier of the item before the page.", examples=[""]
    )
    include: str = Field(default="", description="Ignored: items are complete.")


class ItemPage(Model):
    """A page of items.

    `heddle` of an item has its response, its feedback and the item that it follows.
    """

    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    first_id: str | None
    last_id: str | None
    has_more: bool


def page_request(query: ItemQuery, **of: str) -> pb.ListItemsRequest:
    """Return the request for a page of the items of a conversation or response."""
    request = pb.ListItemsRequest(
        page_size=query.limit, after=query.after, newest_first=query.order == "desc"
    )
    for name, identifier in of.items():
        setattr(request, name, identifier)
    return request


def item_page(listed: pb.ListItemsResponse) -> ItemPage:
    """Return a page of items."""
    ids = [each.id for each in listed.items]
    return ItemPage(
        data=[view(each) for each in listed.items],
        first_id=ids[0] if ids else None,
        last_id=ids[-1] if ids else None,
        has_more=listed.has_more,
    )


def view(item: pb.Item) -> dict[str, Any]:
    """Return an item as clients read it."""
    document: dict[str, Any] = msgspec.json.decode(item.document_json)
    about: dict[str, Any] = {
        "created_at": item.create_time.seconds,
        "parent": item.parent or None,
        "response": item.response or None,
    }
    if item.HasField("feedback"):
        about["feedback"] = {"rating": item.feedback.rating, "text": item.feedback.text}
    return {**document, "heddle": about}
