"""`/assistants/{id}/owner`: hands an assistant over."""

from typing import Annotated, Literal

from heddle.assistant.v1 import sharing_pb2 as pb
from heddle.assistant.v1.assistant_pb2 import GetAssistantRequest
from pydantic import Field

from heddle_gateway.admin.reachability import Unreachable, unreachable
from heddle_gateway.http.models import AssistantId, Model, StrictModel
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call
from heddle_gateway.transcoding.messages import writer

Email = Annotated[str, Field(examples=["ben@example.org"])]
routes = Routes("assistants")


class OwnerBody(StrictModel):
    """The new owner of an assistant."""

    owner: Email


class Transferred(Model):
    """Who may use and edit an assistant that was handed over."""

    visibility: Literal["private", "organization"]
    users_who_may_use: list[str]
    users_who_may_edit: list[str]
    owner: str
    unknown_users: list[str] = Field(
        description="Those of the users whom the organisation does not know."
    )
    unreachable: list[Unreachable] = Field(
        description="What the tools of the assistant can no longer read, because the new owner may "
        "not."
    )


@routes.post("/assistants/{id}/owner", errors=(403, 404, 409), headers=ETAG, if_match=True)
async def hand_over(api: Call, id_: AssistantId, body: OwnerBody) -> Transferred:
    """Hand an assistant over to another user of its organisation.

    Only for its owner and administrators. From then on its tools read what the new owner may read.
    """
    # First, because it answers about a reader's assistant as about one that does not exist.
    await call(api.services.sharing.GetSharing, pb.GetSharingRequest(id=id_))
    # Afterwards the former owner may not read it any more.
    get_request = GetAssistantRequest(reference=f"{PREFIX}{id_}")
    assistant = (await call(api.services.assistants.GetAssistant, get_request)).assistant
    request = pb.TransferAssistantRequest(id=id_, owner=body.owner, etag=api.expected_etag())
    response = await call(api.services.sharing.TransferAssistant, request)
    owner = response.sharing.owner
    missing = await unreachable(api.services, assistant, owner)
    api.set_etag(response.etag)
    return Transferred(**writer(pb.Sharing.DESCRIPTOR)(response.sharing), unreachable=missing)
