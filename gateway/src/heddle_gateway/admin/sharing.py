"""`/assistants/{id}/sharing` and `/assistants/{id}/owner`."""

from typing import Annotated, Literal

from heddle.assistant.v1 import sharing_pb2 as pb
from heddle.assistant.v1.assistant_pb2 import GetAssistantRequest
from pydantic import Field

from heddle_gateway.admin.reachability import Unreachable, unreachable
from heddle_gateway.http.models import Model, StrictModel
from heddle_gateway.openai.chat.completions import AssistantId
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call

Email = Annotated[str, Field(examples=["ben@example.org"])]
_VISIBILITY: dict[str, pb.Visibility.ValueType] = {
    "private": pb.VISIBILITY_PRIVATE,
    "organization": pb.VISIBILITY_ORGANIZATION,
}
routes = Routes("assistants")


class SharingBody(StrictModel):
    """Who may use and edit an assistant, besides its owner and administrators."""

    visibility: Literal["private", "organization"] = Field(
        description="Whether all of the organisation may use it, as after its publication."
    )
    users_who_may_use: list[Email] = Field(
        default=[], description="At most 200 together with those who may edit."
    )
    users_who_may_edit: list[Email] = Field(
        default=[],
        description="They may read and change it, and read what its owner's collections and "
        "rubrics hold through its tools. They may not delete, publish, share or hand it over.",
    )


class Sharing(Model):
    """Who may use and edit an assistant."""

    visibility: Literal["private", "organization"]
    users_who_may_use: list[str]
    users_who_may_edit: list[str]
    owner: str
    unknown_users: list[str] = Field(
        description="Those of the users whom the organisation does not know."
    )


class OwnerBody(StrictModel):
    """The new owner of an assistant."""

    owner: Email


class Transferred(Sharing):
    """Who may use and edit an assistant that was handed over."""

    unreachable: list[Unreachable] = Field(
        description="What the tools of the assistant can no longer read, because the new owner may "
        "not."
    )


_Response = pb.GetSharingResponse | pb.UpdateSharingResponse | pb.TransferAssistantResponse


@routes.get("/assistants/{id}/sharing", errors=(400, 403, 404), headers=ETAG)
async def get(api: Call, id_: AssistantId) -> Sharing:
    """Get who may use and edit an assistant, for those who may edit it."""
    return _sharing(api, await call(api.services.sharing.GetSharing, pb.GetSharingRequest(id=id_)))


@routes.put("/assistants/{id}/sharing", errors=(403, 404, 409), headers=ETAG, if_match=True)
async def update(api: Call, id_: AssistantId, body: SharingBody) -> Sharing:
    """Replace who may use and edit an assistant. Only for its owner and administrators."""
    sharing = pb.Sharing(
        visibility=_VISIBILITY[body.visibility],
        users_who_may_use=body.users_who_may_use,
        users_who_may_edit=body.users_who_may_edit,
    )
    request = pb.UpdateSharingRequest(id=id_, sharing=sharing, etag=api.expected_etag())
    return _sharing(api, await call(api.services.sharing.UpdateSharing, request))


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
    return Transferred(**_sharing(api, response).model_dump(), unreachable=missing)


def _sharing(api: Call, response: _Response) -> Sharing:
    api.set_etag(response.etag)
    sharing = response.sharing
    is_open = sharing.visibility == pb.VISIBILITY_ORGANIZATION
    return Sharing(
        visibility="organization" if is_open else "private",
        users_who_may_use=list(sharing.users_who_may_use),
        users_who_may_edit=list(sharing.users_who_may_edit),
        owner=sharing.owner,
        unknown_users=list(sharing.unknown_users),
    )
