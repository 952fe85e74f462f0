"""Translates the items of a Responses request into messages of the contract."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
from heddle.chat.v1 import chat_pb2 as pb
from heddle_runtime.contract.json_text import members as json_members

from heddle_gateway.http.error_responses import rejected
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.models import validate
from heddle_gateway.openai.chat.messages import file_part, image_part
from heddle_gateway.openai.conversations import schema
from heddle_gateway.openai.conversations.turns import Turn

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    Messages = RepeatedCompositeFieldContainer[pb.Message]

Unseal = Callable[[str], str]
"""Returns the text in an `encrypted_content`, an empty string if it is of another origin."""
_ROLES = {
    "system": pb.ROLE_SYSTEM,
    "user": pb.ROLE_USER,
    "assistant": pb.ROLE_ASSISTANT,
    "developer": pb.ROLE_DEVELOPER,
}
SUMMARY = "Summary of the conversation so far:\n"
CONFIRM = "heddle_confirm"
"""The function by which the orchestrator asks for a confirmation."""
APPROVAL_REQUEST = "mcp_approval_request"
_DECLINED = "declined"
# What these found is in the text of the response. Clients repeat them.
_SKIPPED = frozenset(
    {
        *("file_search_call", "web_search_call", "image_generation_call"),
        *("mcp_call", "mcp_list_tools"),
    }
)


class Conversation:
    """Adds items to the messages of a request.

    A message of the assistant, its calls and its reasoning, which are items of their own, become
    one message.
    """

    def __init__(self, messages: "Messages", unseal: Unseal, turn: Turn | None = None) -> None:
        """Add to `messages`; `turn` has what is stored of the conversation."""
        self._stored = turn or Turn()
        self.places: list[str] = []
        """The place of the content of each message."""
        self._orphan: tuple[str, str] | None = None
        """The place and the call of the first output without a call."""
        self._calls: set[str] = set()
        self._waiting: dict[str, str] = {}
        """The confirmations of calls that wait for the user, by the ids of their items."""
        self._messages = messages
        self._unseal = unseal
        self._turn: pb.Message | None = None
        self._extra = ""

    def add_text(self, role: "pb.Role.ValueType", text: str, place: str) -> None:
        """Add a message that is one text."""
        self._added(role, place).parts.add(text=text)

    def add_turn(
        self, body: schema.ConversationBody, members: Mapping[str, Any], place: Place
    ) -> None:
        """Add the items before a turn, and its input. Raises as `add`."""
        for document in self._stored.items:
            self._add_stored(document)
        self._orphan = None  # what is stored may begin in the middle
        if isinstance(body.input, str):
            self.add_text(pb.ROLE_USER, body.input, "input")
            return
        for index, item in enumerate(body.input):
            self.add(item, members["input"][index], place / "input" / index)
        if self._orphan is not None:
            param, call_id = self._orphan
            message = f"No tool call found for function call output with call_id {call_id[:100]}."
            raise rejected(param, message, "tool_call_not_found")

    def _add_stored(self, document: bytes) -> None:
        """Add an item that Heddle stored, by its JSON text."""
        members = msgspec.json.decode(document)
        item = validate(cast("type[schema.Item]", schema.TaggedItem), members)
        self.add(item, members, Place(document))

    def add(self, item: schema.Item, members: dict[str, Any], place: Place) -> None:
        """Add an item.

        Raises:
            InvalidRequestError: A part of its content is invalid.
            RejectedRequestError: Heddle does not support it.
        """
        match item:
            case schema.MessageItem(role="assistant"):
                self._fill(self._assistant(place, text=True), item.content, place / "content")
            case schema.MessageItem():
                at = place / "content"
                self._fill(self._added(_ROLES[item.role], str(at)), item.content, at)
            case schema.CallItem():
                self._add_call(item, place)
            case schema.CallOutputItem():
                self._add_output(item, place)
            case schema.SealedItem():
                self._add_sealed(item, place)
            case schema.ApprovalRequestItem():
                self._add_approval_request(item, place)
            case schema.ApprovalResponseItem():
                self._add_approval(item, place)
            case schema.OtherItem():
                self._add_other(item, members, place)

    def _add_other(self, item: schema.OtherItem, members: dict[str, Any], place: Place) -> None:
        if item.type == "item_reference":
            identifier = str(members.get("id"))
            if (document := self._stored.references.get(identifier)) is None:
                message = (
                    f"Item with id {identifier[:100]!r} not found. Items of responses with store "
                    "set to false are not stored: send the item itself."
                )
                raise rejected(str(place / "id"), message, "item_not_found")
            self._add_stored(document)
        elif item.type not in _SKIPPED:
            param = str(place / "type")
            message = (
                f"{param} {item.type!r} is not supported. Send messages, calls of functions and "
                "custom tools, and their outputs."
            )
            raise rejected(param, message, "unsupported_item")

    def _added(self, role: "pb.Role.ValueType", place: str) -> pb.Message:
        self._turn, self._extra = None, ""
        if role != pb.ROLE_TOOL:  # who goes on without an answer has not approved
            for identifier in [*self._waiting]:
                self._decide(identifier, _DECLINED, place)
        self.places.append(place)
        return self._messages.add(role=role)

    def _assistant(self, place: Place, *, text: bool = False) -> pb.Message:
        """Return the message of the assistant to which an item belongs."""
        turn, extra = self._turn, self._extra
        if turn is None or (text and turn.parts and not turn.tool_calls):
            turn = self._added(pb.ROLE_ASSISTANT, str(place / "content"))
            turn.extra_json = extra
            self._turn = turn
        return turn

    def _add_call(self, item: schema.CallItem, place: Place) -> None:
        self._calls.add(item.call_id)
        call = self._assistant(place).tool_calls.add(id=item.call_id, name=item.name)
        call.arguments_json = item.arguments
        if item.type == "custom_tool_call":
            call.arguments_json = msgspec.json.encode({"input": item.input}).decode()
        if item.extra_content is not None:
            call.extra_json = place.members(["extra_content"])

    def _add_output(self, item: schema.CallOutputItem, place: Place) -> None:
        if item.call_id not in self._calls and self._orphan is None:
            self._orphan = str(place / "call_id"), item.call_id
        at = place / "output"
        message = self._added(pb.ROLE_TOOL, str(at))
        message.tool_call_id = item.call_id
        self._fill(message, item.output, at)

    def _add_approval_request(self, item: schema.ApprovalRequestItem, place: Place) -> None:
        question = {
            "function": item.name,
            "arguments": json_members(item.arguments),
            "confirmation": item.confirmation,
        }
        call = self._assistant(place).tool_calls.add(id=item.id, name=CONFIRM)
        call.arguments_json = msgspec.json.encode(question).decode()
        if item.extra_content is not None:
            call.extra_json = place.members(["extra_content"])
        self._waiting[item.id] = item.confirmation

    def _add_approval(self, item: schema.ApprovalResponseItem, place: Place) -> None:
        identifier = item.approval_request_id
        if not self._waiting.get(identifier):
            param = str(place / "approval_request_id")
            message = (
                f"No approval request with id {identifier[:100]!r} waits in the conversation. Send "
                "the request as the response has it, or continue the response."
            )
            raise rejected(param, message, "approval_request_not_found")
        answer = self._waiting[identifier] if item.approve else _DECLINED
        self._decide(identifier, answer, str(place))

    def _decide(self, identifier: str, answer: str, place: str) -> None:
        """Add the user's answer to an approval request."""
        del self._waiting[identifier]
        self._added(pb.ROLE_TOOL, place).parts.add(text=answer)
        self._messages[-1].tool_call_id = identifier

    def _add_sealed(self, item: schema.SealedItem, place: Place) -> None:
        if item.type == "reasoning":
            self._add_reasoning(item)
            return
        at = str(place / "encrypted_content")
        if not (text := self._unseal(item.encrypted_content or "")):
            message = f"{at} cannot be read. Send it as the same user, to the same assistant."
            raise rejected(at, message, "invalid_encrypted_content")
        self.add_text(pb.ROLE_DEVELOPER, f"{SUMMARY}{text}", at)

    def _add_reasoning(self, item: schema.SealedItem) -> None:
        extra = self._unseal(item.encrypted_content) if item.encrypted_content else ""
        if extra and self._turn is not None and self._turn.tool_calls:
            self._turn.extra_json = extra  # it can follow the calls that it belongs to
        elif extra:
            self._extra = extra

    def _fill(self, message: pb.Message, content: schema.Content, place: Place) -> None:
        if isinstance(content, str):
            message.parts.add(text=content)
            return
        message.parts.extend(_part(each, place / i) for i, each in enumerate(content))


def _part(part: schema.Part, place: Place) -> pb.ContentPart:
    match part:
        case schema.TextPart():
            return pb.ContentPart(text=part.text)
        case schema.RefusalPart():
            return pb.ContentPart(text=part.refusal)
        case schema.ImagePart() if part.image_url is not None:
            return image_part(part.image_url, part.detail, place / "image_url")
        case schema.ImagePart() if part.file_id is not None:  # `inline_files` replaces it
            return pb.ContentPart(image=pb.Media(uri=part.file_id))
        case schema.ImagePart():
            raise place.invalid("must have image_url or file_id")
        case schema.FilePart():
            return file_part(part, place, "; Heddle fetches no file_url")
        case _:
            param = str(place / "type")
            message = f"{param} {part.type!r} is not supported. Send text, images and files."
            raise rejected(param, message, "unsupported_content")
