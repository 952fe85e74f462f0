"""The turn of a conversation: what precedes it, and how it is stored."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import structlog
from heddle.chat.v1 import chat_pb2
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest, RunWholeCompletionRequest
from heddle_runtime.errors import HeddleError, NotFoundError, NotSetUpError
from heddle_runtime.identity.call_metadata import CALLER, caller

from heddle_gateway.http.error_responses import rejected
from heddle_gateway.openai.chat.open_webui_tasks import task_request
from heddle_gateway.openai.chat.run_events import new_id
from heddle_gateway.openai.conversations.schema import ConversationBody
from heddle_gateway.services import call
from heddle_gateway.state import State

_TASK = (
    "Write a title of at most six words for this conversation, in its language. Write nothing but "
    "the title: no quotation marks, no full stop."
)
_MAX_TEXT = 2_000
"""The maximum number of characters of each message that the model reads."""
_MAX_TITLE = 100


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


MAX_TURN_BYTES = 4 * 1024 * 1024
"""The maximum size of what a connection keeps, as of what a stored response continues."""
_REFERENCE = "item_reference"
_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "compaction": "cmp",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "cto",
    "mcp_approval_request": "mcpr",
    "mcp_approval_response": "mcpa",
}
_encode = msgspec.json.encode
log = structlog.get_logger(__name__)


class LastTurn:
    """The last response of a connection, if it is not stored: the next one can continue it."""

    def __init__(self) -> None:
        self._identifier = ""
        self._items: Sequence[bytes] = ()

    def keep(self, identifier: str, items: Sequence[bytes]) -> None:
        """Keep the JSON texts of a response's items and of all before them, if they are few."""
        self._identifier, self._items = "", ()
        if sum(map(len, items)) <= MAX_TURN_BYTES:
            self._identifier, self._items = identifier, items

    def take(self, identifier: str) -> Sequence[bytes] | None:
        """Return the items of a response and forget them; None if it is not the last one."""
        if not identifier or identifier != self._identifier:
            return None
        items, self._identifier, self._items = self._items, "", ()
        return items


class Turn(msgspec.Struct, frozen=True):
    """What a request says about stored items."""

    stores: bool = False
    """Whether the response is stored."""
    previous: str = ""
    """The response that it follows."""
    conversation: str = ""
    after: str | None = None
    """The item that its input follows, empty for none, None for the end of the conversation."""
    informed: bool = False
    """Whether the person was told that teachers can read the question."""
    items: Sequence[bytes] = ()
    """The JSON texts of the items before it."""
    references: Mapping[str, bytes] = {}
    """The JSON texts of items that its input refers to, by their identifiers."""
    last_turn: LastTurn | None = None
    """Where the response goes if it is not stored."""

    def echo(self) -> dict[str, Any]:
        """Return the members of the response about it."""
        members: dict[str, Any] = {
            "store": self.stores,
            "previous_response_id": self.previous or None,
        }
        return members | ({"conversation": {"id": self.conversation}} if self.conversation else {})


async def read_turn(
    state: State,
    body: ConversationBody,
    members: Mapping[str, Any],
    last_turn: LastTurn | None = None,
) -> Turn:
    """Return the turn of a request. One that continues a response that was not stored is not.

    Raises:
        RejectedRequestError: A response, conversation or item is not stored for the caller.
    """
    conversation, after = _conversation(body)
    local: Sequence[bytes] | None = None
    request = pb.GetContextRequest(after=after, ids=_references(members.get("input")))
    if previous := body.previous_response_id or "":
        if conversation:
            message = "previous_response_id and conversation cannot be used together."
            raise rejected("conversation", message, "invalid_request")
        local = last_turn.take(previous) if last_turn is not None else None
        request.response = previous if local is None else ""
    elif conversation:
        request.conversation = conversation
    context = pb.GetContextResponse()
    if request.response or conversation or request.ids:
        try:
            context = await call(state.services.conversations.GetContext, request)
        except NotFoundError:
            raise _not_found(previous, conversation, after) from None
    items = context.items
    stores = getattr(body, "store", None) is not False and not caller().identity.client_user
    return Turn(
        stores and local is None,
        previous,
        conversation,
        items[-1].id if previous and items else after,
        getattr(body.conversation, "informed", False),
        documents(items) if local is None else local,
        {each.id: each.document_json.encode() for each in context.single_items},
        last_turn,
    )


def documents(items: Iterable[pb.Item]) -> list[bytes]:
    """Return the JSON texts of items."""
    return [each.document_json.encode() for each in items]


def _conversation(body: ConversationBody) -> tuple[str, str | None]:
    """Return the conversation of a request, and the item that it follows there."""
    if isinstance(body.conversation, str):
        return body.conversation, None
    return (body.conversation.id, body.conversation.after) if body.conversation else ("", None)


def _references(items: object) -> Iterable[str]:
    for each in items if isinstance(items, list) else ():
        if isinstance(each, dict) and each.get("type") == _REFERENCE:
            identifier = each.get("id")
            if isinstance(identifier, str):
                yield identifier


def _not_found(previous: str, conversation: str, after: str | None) -> Exception:
    if previous:
        message = f"Previous response with id {previous[:100]!r} not stored."
        return rejected("previous_response_id", message, "previous_response_not_found")
    item = f" with an item {after[:100]!r}" if after else ""
    message = f"Conversation with id {conversation[:100]!r}{item} not stored."
    return rejected("conversation", message, "conversation_not_found", 404)


def new_items(items: Iterable[Mapping[str, Any]]) -> list[pb.Item]:
    """Return items of a client in the form that is stored, with identifiers of their own."""
    stored = []
    renamed: dict[object, str] = {}
    for each in items:
        kind = each.get("type", "message")
        identifier = new_id(_PREFIXES.get(kind, "item"))
        content = each.get("content")
        document = {"type": kind, "status": "completed", **each, "id": identifier}
        if kind == "mcp_approval_request":
            renamed[each.get("id")] = identifier
        elif request := renamed.get(each.get("approval_request_id")):
            document["approval_request_id"] = request
        if kind == "message" and isinstance(content, str):
            part = "output_text" if each.get("role") == "assistant" else "input_text"
            extra: dict[str, Any] = {}
            if part == "output_text":
                extra = {"annotations": [], "logprobs": []}
            document["content"] = [{"type": part, "text": content, **extra}]
        stored.append(pb.Item(id=identifier, document_json=_encode(document).decode()))
    return stored


def input_items(members: Mapping[str, Any], turn: Turn) -> list[pb.Item]:
    """Return the items of a request's input in the form that is stored."""
    items = members["input"]
    if isinstance(items, str):
        return new_items([{"role": "user", "content": items}])
    stored = turn.references
    resolved = (
        msgspec.json.decode(stored[each["id"]]) if each.get("type") == _REFERENCE else each
        for each in items
    )
    return new_items(resolved)


def put_request(
    response: Mapping[str, Any], turn: Turn, items: Sequence[pb.Item], model: str
) -> pb.PutResponseRequest:
    """Return the request that stores a response."""
    document = {name: value for name, value in response.items() if name != "output"}
    return pb.PutResponseRequest(
        response=pb.Response(
            id=response["id"],
            document_json=_encode(document).decode(),
            status=response["status"],
            conversation=turn.conversation,
        ),
        input=items,
        output=[
            pb.Item(id=each["id"], document_json=_encode(each).decode())
            for each in response["output"]
        ],
        after=turn.after,
        assistant=model,
        informed=turn.informed,
    )


async def store(state: State, request: pb.PutResponseRequest) -> bool:
    """Store a response; return whether it is stored. Its conversation gets a title afterwards."""
    try:
        stored = await call(state.services.conversations.PutResponse, request)
    except NotSetUpError:  # the organisation stores nothing
        return False
    except HeddleError as error:
        log.warning("response not stored", response=request.response.id, cause=error.message)
        return False
    if stored.untitled and stored.status == "completed":
        state.titling.start(add_title(state, request))
    return True
