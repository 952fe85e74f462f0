"""The routes of `/v1/responses`."""

import time
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from heddle.chat.v1.chat_pb2 import ROLE_USER
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest, RunWholeCompletionRequest
from pydantic import Field
from starlette.responses import Response as RawJson

from heddle_gateway.auth.sealed_texts import BoundTexts
from heddle_gateway.http.disconnect import split_frames
from heddle_gateway.http.error_responses import rejected
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.models import Deleted, Model, identifier
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat.completions import OPTIONS, respond, run_whole
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_gateway.openai.chat.open_webui_tasks import task_request
from heddle_gateway.openai.chat.run_events import new_id
from heddle_gateway.openai.conversations.background import RUNNING, follow, replay
from heddle_gateway.openai.conversations.endpoint import (
    ItemPage,
    ItemQuery,
    item_page,
    page_request,
)
from heddle_gateway.openai.conversations.items import Conversation
from heddle_gateway.openai.conversations.turns import read_turn
from heddle_gateway.openai.responses.encoder import ResponseEncoder
from heddle_gateway.openai.responses.item_encoder import ResponseForm
from heddle_gateway.openai.responses.request import read
from heddle_gateway.openai.responses.schema import (
    CompactBody,
    Compaction,
    Response,
    ResponsesBody,
)
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call
from heddle_gateway.state import State

_TASK = (
    "Summarise this conversation, so that it can be continued from the summary alone. Keep facts, "
    "names, numbers, decisions, wishes and open questions. Write in the language of the "
    "conversation, and nothing but the summary."
)


async def compact(
    state: State, body: CompactBody, members: dict[str, Any], place: Place
) -> dict[str, Any]:
    """Return the compacted conversation of a body.

    Raises:
        InvalidRequestError: An item is invalid.
        RejectedRequestError: It refers to what is not stored, or Heddle does not support it.
        HeddleError: The model does not answer.
    """
    turn = await read_turn(state, body, members)
    sealed = BoundTexts(state.reasoning, body.model)
    run = RunCompletionRequest(assistant_reference=body.model)
    conversation = Conversation(run.messages, sealed.open, turn)
    conversation.add_turn(body, members, place)
    if not run.messages:
        raise (place / "input").invalid("must not be empty without previous_response_id")
    conversation.add_text(ROLE_USER, _TASK, "input")
    task = await task_request(state, run)
    task.truncate = True
    encoder = ResponseEncoder(ResponseForm({}), Answer(""), trace=False, streamed=False)
    await run_whole(state, RunWholeCompletionRequest(run=task), encoder)
    parts = (part for item in encoder.response["output"] for part in item.get("content", ()))
    summary = "".join(part["text"] for part in parts)
    item = {
        "id": new_id("cmp"),
        "type": "compaction",
        "encrypted_content": sealed.seal(summary),
    }
    return {
        "id": encoder.response["id"],
        "object": "response.compaction",
        "created_at": int(time.time()),
        "output": [item],
        "usage": encoder.response["usage"],
    }


ResponseId = Annotated[str, identifier("The response's identifier.", "resp_1")]
routes = Routes("completions")


class DeletedResponse(Deleted):
    """The response is deleted."""

    object: Literal["response"] = "response"


@routes.post(
    "/v1/responses",
    "/responses",
    **{**OPTIONS, "body_model": ResponsesBody, "returns": Response},
)
async def create(state: State, request: RawRequest) -> None:
    """Answer a conversation as an assistant, in the form of OpenAI's Responses.

    The run is that of a chat completion, with the same headers, limits and traces. With `stream`
    the response is a stream of server-sent events that ends with `response.completed`,
    `response.incomplete` or `response.failed`.

    The response is stored for the caller unless `store` is `false`, before `response.completed` is
    sent. A later request continues it with `previous_response_id`, with a `conversation`, or with
    items `item_reference`. With `reasoning.encrypted_content` in `include`, an item `reasoning` has
    what the model's provider needs back with the calls of functions; only the same caller can use
    it, with the same assistant.

    The assistant's own tools are items `file_search_call`, `web_search_call` and `mcp_call`, unless
    `X-Heddle-Events` is `none`. Their sources are annotations of the message: `url_citation` with a
    web address, else `file_citation`. Progress is an event `response.in_progress` with a member
    `event` or `heddle`.

    A WebSocket to the same path takes bodies with `type: response.create` as messages, answers one
    after another, and sends the same events as messages. A refused message is answered by an event
    `error`. The connection keeps its last response if that is not stored, and a message can
    continue it with `previous_response_id`. With `generate: false` no model is asked. After an hour
    the connection ends.
    """
    await respond(
        state, request, "", read=partial(read, last_turn=request.scope["state"].get("last_turn"))
    )


@routes.post("/v1/responses/compact", errors=(400, 404, 501, 502, 503))
async def compact_conversation(api: Call, body: CompactBody) -> Compaction:
    """Summarise a conversation as one item `compaction`, for the input of a later request.

    The small model of the organisation writes the summary. Only the same caller can use the item,
    with the same assistant.
    """
    members = msgspec.json.decode(api.json.text())
    return Compaction.model_validate(await compact(api.state, body, members, api.json))


class ResponseQuery(Model):
    """The query of a stored response."""

    stream: bool = Field(
        default=False,
        description="Stream the events of a response that runs or ran in the background.",
    )
    starting_after: int = Field(
        default=-1, ge=-1, description="Only events after this `sequence_number`."
    )
    include: str = Field(default="", description="Ignored: items are complete.")


@routes.get(
    "/v1/responses/{id}",
    returns=Response,
    content=("application/json", "text/event-stream"),
    errors=(400, 404),
)
async def get(api: Call, id_: ResponseId, query: ResponseQuery) -> RawJson | None:
    """Get a stored response of the caller."""
    stored = await _stored(api, id_, with_events=query.stream)
    if not query.stream:
        return _json(stored)
    after = query.starting_after
    if stored.response.status in RUNNING and (run := api.state.background.get(id_)) is not None:
        await follow(api.state, api.raw, run, after)
        return None
    events = await replay(api.state, api.raw, stored)
    if not events:
        message = "Only a response that ran in the background can be streamed again."
        raise rejected("stream", message, "invalid_request")
    frames = b"".join(split_frames(events)[after + 1 :])
    return RawJson(frames, media_type="text/event-stream")


@routes.delete("/v1/responses/{id}", errors=(404,))
async def delete(api: Call, id_: ResponseId) -> DeletedResponse:
    """Delete a stored response. Its items stay if they belong to a conversation."""
    await call(api.services.conversations.DeleteResponse, pb.DeleteResponseRequest(id=id_))
    return DeletedResponse(id=id_)


@routes.get("/v1/responses/{id}/input_items", errors=(400, 404))
async def input_items(api: Call, id_: ResponseId, query: ItemQuery) -> ItemPage:
    """List the items of a response's input."""
    request = page_request(query, response=id_)
    return item_page(await call(api.services.conversations.ListItems, request))


@routes.post("/v1/responses/{id}/cancel", returns=Response, errors=(400, 404))
async def cancel(api: Call, id_: ResponseId) -> RawJson:
    """Cancel a response that runs in the background."""
    stored = await _stored(api, id_)
    if not msgspec.json.decode(stored.response.document_json)["background"]:
        message = "Only responses that run in the background can be cancelled."
        raise rejected("id", message, "invalid_request")
    if stored.response.status in RUNNING:
        await api.state.background.cancel(id_)
        stored.response.status = "cancelled"  # in another process it ends without being stored
        request = pb.PutResponseRequest(response=stored.response)
        await call(api.services.conversations.PutResponse, request)
        stored = await _stored(api, id_)
    return _json(stored)


async def _stored(api: Call, id_: str, *, with_events: bool = False) -> pb.GetResponseResponse:
    request = pb.GetResponseRequest(id=id_, with_events=with_events)
    return await call(api.services.conversations.GetResponse, request)


def _json(stored: pb.GetResponseResponse) -> RawJson:
    """Return a stored response as clients read it."""
    document = msgspec.json.decode(stored.response.document_json)
    output = [msgspec.Raw(each.document_json.encode()) for each in stored.output]
    if stored.response.status == "failed" and document["status"] != "failed":
        document["error"] = {"code": "server_error", "message": "The response was interrupted."}
    members = {**document, "status": stored.response.status, "output": output}
    return RawJson(msgspec.json.encode(members), media_type="application/json")
