"""The routes of `/v1/conversations` whose bodies are items; the contract describes the others."""

from typing import Annotated, Any, Literal

import msgspec
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest
from pydantic import Field

from heddle_gateway.http.models import DocumentedAs, Model, Text, identifier
from heddle_gateway.openai.conversations.items import Conversation as Reader
from heddle_gateway.openai.conversations.schema import TaggedItem
from heddle_gateway.openai.conversations.turns import new_items
from heddle_gateway.routing import Call, Routes
from heddle_gateway.routing.transcoded import operation
from heddle_gateway.services import call


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
    for name, value in of.items():
        setattr(request, name, value)
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


ConversationId = Annotated[str, identifier("The conversation's identifier.", "conv_1")]
ItemId = Annotated[str, identifier("The item's identifier.", "msg_1")]
Items = Annotated[list[TaggedItem], Field(max_length=20)]
routes = Routes("conversations")
_GET = operation("conversations", pb.DESCRIPTOR, "GetConversation")


class NewConversation(Model):
    """A new conversation."""

    items: Items | None = Field(default=None, description="Its first items.")
    metadata: Annotated[dict[str, str], Field(max_length=16)] | None = None
    title: Annotated[Text, Field(max_length=200)] | None = Field(
        default=None, description="By default the beginning of the first message."
    )


class NewItems(Model):
    """Items for the end of a conversation."""

    items: Annotated[Items, Field(min_length=1)]


@routes.post(
    "/v1/conversations",
    returns=Annotated[Any, DocumentedAs(factory=lambda: _GET.response)],
    errors=(501,),
)
async def create(api: Call, body: NewConversation) -> dict[str, Any]:
    """Create a conversation. Only the caller can read it."""
    request = pb.CreateConversationRequest(
        conversation=pb.Conversation(title=body.title or "", metadata=body.metadata or {}),
        items=_new(api, body.items or []),
    )
    created = await call(api.services.conversations.CreateConversation, request)
    return _GET.answer(api, created)


@routes.get("/v1/conversations/{id}/items", errors=(400, 404))
async def list_items(api: Call, id_: ConversationId, query: ItemQuery) -> ItemPage:
    """List the items of a conversation, those of all branches."""
    request = page_request(query, conversation=id_)
    return item_page(await call(api.services.conversations.ListItems, request))


@routes.post("/v1/conversations/{id}/items", errors=(404, 501))
async def create_items(api: Call, id_: ConversationId, body: NewItems) -> ItemPage:
    """Add items at the end of a conversation."""
    request = pb.CreateItemsRequest(conversation=id_, items=_new(api, body.items))
    added = await call(api.services.conversations.CreateItems, request)
    return item_page(pb.ListItemsResponse(items=added.items))


@routes.get("/v1/conversations/{conversation}/items/{id}", errors=(404,))
async def get_item(api: Call, conversation: ConversationId, id_: ItemId) -> dict[str, Any]:
    """Get an item of a conversation."""
    request = pb.ListItemsRequest(conversation=conversation, id=id_)
    return view((await call(api.services.conversations.ListItems, request)).items[0])


def _new(api: Call, items: list[Any]) -> list[pb.Item]:
    """Return items of the body in the form that is stored.

    Raises:
        InvalidRequestError: An item cannot be part of a conversation.
    """
    if not items:
        return []
    place = api.json / "items"
    members = [msgspec.json.decode(place.part(index)) for index in range(len(items))]
    reader = Reader(RunCompletionRequest().messages, lambda _: "")
    for index, item in enumerate(items):
        reader.add(item, members[index], place / index)
    return new_items(members)
