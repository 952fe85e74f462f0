"""`POST /v1/responses/compact`: a conversation becomes one item, a summary by a small model."""

import time
from typing import Any

from heddle.chat.v1 import chat_pb2 as pb
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
    RunWholeCompletionRequest,
)

from heddle_gateway.auth.sealed_texts import BoundTexts
from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.chat.completions import run_whole
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_gateway.openai.chat.open_webui_tasks import task_request
from heddle_gateway.openai.conversations.items import Conversation
from heddle_gateway.openai.conversations.turns import read_turn
from heddle_gateway.openai.identifiers import new_id
from heddle_gateway.openai.responses.encoder import ResponseEncoder
from heddle_gateway.openai.responses.item_encoder import ResponseForm
from heddle_gateway.openai.responses.schema import CompactBody
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
    conversation.add_text(pb.ROLE_USER, _TASK, "input")
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
