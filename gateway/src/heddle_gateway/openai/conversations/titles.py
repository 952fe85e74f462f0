"""Titles of conversations, written by the small model after the first answer."""

from collections.abc import Iterable

import msgspec
import structlog
from heddle.chat.v1 import chat_pb2
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
    RunWholeCompletionRequest,
)
from heddle_runtime.errors import HeddleError, NotSetUpError
from heddle_runtime.identity.call_metadata import CALLER

from heddle_gateway.openai.chat.open_webui_tasks import task_request
from heddle_gateway.services import call
from heddle_gateway.state import State

_TASK = (
    "Write a title of at most six words for this conversation, in its language. Write nothing but "
    "the title: no quotation marks, no full stop."
)
_MAX_TEXT = 2_000
"""The maximum number of characters of each message that the model reads."""
_MAX_TITLE = 100
log = structlog.get_logger(__name__)


async def add_title(state: State, stored: pb.PutResponseRequest) -> None:
    """Let the small model of the organisation title the conversation of a stored response.

    Without such a model, or if it fails, the title stays the beginning of the first message.
    """
    user = CALLER.get()
    run = RunCompletionRequest(assistant_reference=stored.assistant)
    for role, items in (
        (chat_pb2.ROLE_USER, stored.input),
        (chat_pb2.ROLE_ASSISTANT, stored.output),
    ):
        run.messages.add(role=role).parts.add(text=_text(items))
    run.messages.add(role=chat_pb2.ROLE_USER).parts.add(text=_TASK)
    try:
        task = await task_request(state, run, only_small=True)
        whole = RunWholeCompletionRequest(run=task)
        run_whole = state.services.orchestrator.RunWholeCompletion
        answer = await call(run_whole, whole, state.settings.deadline_seconds)
        text = "".join(each.text_delta for each in answer.events)
        if title := " ".join(text.split())[:_MAX_TITLE].strip("\"'“”«» "):
            CALLER.set(user)
            change = pb.UpdateConversationRequest(
                id=stored.response.conversation, title=title, suggested=True
            )
            await call(state.services.conversations.UpdateConversation, change)
    except NotSetUpError:
        return
    except HeddleError as error:
        log.warning("conversation not titled", cause=error.message)


def _text(items: Iterable[pb.Item]) -> str:
    """Return the beginning of the texts of messages."""
    texts = []
    for item in items:
        content = msgspec.json.decode(item.document_json).get("content")
        parts = content if isinstance(content, list) else ()
        texts += [each["text"] for each in parts if isinstance(each.get("text"), str)]
    return "\n".join(texts)[:_MAX_TEXT] or "…"
