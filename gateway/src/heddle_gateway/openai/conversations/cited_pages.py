"""Pages that answers cite, for people who may use an assistant but not read its collections."""

from typing import Annotated

import msgspec
from heddle.assistant.v1 import assistant_pb2
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.grants import Grant, GrantSigner, carrying
from pydantic import Field
from starlette.responses import Response

from heddle_gateway.openai.conversations.endpoint import ConversationId, ItemId
from heddle_gateway.openai.served_images import picture_response
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import ServiceClients, call

_SECONDS = 30.0
_MISSING = "The answer has no such source, or its page is not known."
_SourceIndex = Annotated[
    str, Field(description="The place of the source in `results`, from 0.", examples=["0"])
]
routes = Routes("conversations")


@routes.get(
    "/v1/conversations/{conversation}/items/{id}/results/{index}/page",
    content=("image/webp",),
    headers=ETAG,
    responses={304: None},
    errors=(404,),
)
async def get_cited_page(
    api: Call, conversation: ConversationId, id_: ItemId, index: _SourceIndex
) -> Response:
    """Get the image of the page that a source of an answer is on. OpenAI has no such endpoint.

    The item is a `file_search_call` of an answer in the caller's own conversation. The caller must
    still be able to use the assistant, and the owner of the assistant to search the collection; the
    document must not have changed since the answer.
    """
    try:
        return picture_response(api, await _picture(api, conversation, id_, index))
    except NotFoundError:  # whatever is missing: the caller need not know of the collection
        raise NotFoundError(_MISSING) from None


async def _picture(
    api: Call, conversation: str, item_id: str, index: str
) -> knowledge_pb2.GetPagePictureResponse:
    """Return the picture, with the rights of the assistant's owner.

    Raises:
        NotFoundError: There is none for the caller.
    """
    services = api.services
    listed = pb.ListItemsRequest(conversation=conversation, id=item_id, only_output=True)
    [item] = (await call(services.conversations.ListItems, listed)).items
    store, document, page = _place(item.document_json, index)
    grant = await _owner(services, item.response)
    secret = api.state.settings.identity_secret.get_secret_value()
    with carrying(GrantSigner(secret).sign(grant, _SECONDS)):
        request = knowledge_pb2.GetPagePictureRequest(
            collection=store, document=document, page=page, unchanged_since=item.create_time
        )
        return await call(services.knowledge.GetPagePicture, request)


async def _owner(services: ServiceClients, response: str) -> Grant:
    """Return the owner of the assistant of a response, which the caller may still use."""
    request = pb.GetResponseRequest(id=response)
    stored = (await call(services.conversations.GetResponse, request)).response
    model = msgspec.json.decode(stored.document_json)["model"]
    used = assistant_pb2.GetAssistantRequest(reference=model)
    assistant = (await call(services.assistants.GetAssistant, used)).assistant
    return Grant(assistant.owner, assistant.organization)


def _place(document: str, index: str) -> tuple[str, str, int]:
    """Return the collection, the document and the page of a source.

    Raises:
        NotFoundError: There is no such source, or its page is not known.
    """
    results = msgspec.json.decode(document).get("results") or []
    try:
        result = results[int(index)] if index.isdecimal() and len(index) < len("1000") else {}
        place = result["vector_store_id"], result["file_id"], result["attributes"]["page"]
    except (IndexError, KeyError):
        place = ("", "", 0)
    if not all(place):
        raise NotFoundError(_MISSING)
    return place
