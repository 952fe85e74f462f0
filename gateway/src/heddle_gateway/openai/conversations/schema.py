"""The items of conversations, and what a request says about its conversation.

They are for validation, and for `/openapi.json`.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from heddle_gateway.http.models import Model, Name
from heddle_gateway.openai.chat.message_schema import (
    BY_TYPE,
    MAX_MESSAGES,
    MAX_PARTS,
    FileContent,
)
from heddle_gateway.openai.chat.schema import AssistantName


class TextPart(Model):
    """Text."""

    type: Literal["input_text", "output_text", "text"]
    text: str


class RefusalPart(Model):
    """The model's refusal."""

    type: Literal["refusal"]
    refusal: str


class ImagePart(Model):
    """An image, by its address or as an uploaded file."""

    type: Literal["input_image"]
    image_url: Name | None = Field(default=None, description="`https:` or `data:` in base64.")
    file_id: Name | None = None
    detail: Any = None


class FilePart(FileContent):
    """A file in base64, or as a `data:` URL, or the identifier of an uploaded file."""

    type: Literal["input_file"]
    file_url: str | None = Field(default=None, description="Not supported.")


class OtherPart(Model):
    """A part of another type, which is refused."""

    type: Name


Part = TextPart | RefusalPart | ImagePart | FilePart | OtherPart
Content = str | Annotated[list[Annotated[Part, BY_TYPE]], Field(max_length=MAX_PARTS)]


class MessageItem(Model):
    """A message."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: Content


class CallItem(Model):
    """A call of a client's function or custom tool, which an earlier response asked for."""

    type: Literal["function_call", "custom_tool_call"]
    call_id: Name
    name: Name
    arguments: str = Field(default="", description="Of a function.")
    input: str = Field(default="", description="Of a custom tool.")
    extra_content: dict[str, Any] | None = Field(
        default=None, description="What the model's provider needs back with the call."
    )


class CallOutputItem(Model):
    """The result of a call."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: Name
    output: Content


class SealedItem(Model):
    """The reasoning of an earlier response, or a compacted conversation."""

    type: Literal["reasoning", "compaction"]
    encrypted_content: str | None = None


class ApprovalRequestItem(Model):
    """A call of an assistant's tool that an earlier response asked the user to approve."""

    type: Literal["mcp_approval_request"]
    id: Name
    name: str
    arguments: str = ""
    confirmation: str = Field(default="", description="As the response has it.")
    extra_content: dict[str, Any] | None = None


class ApprovalResponseItem(Model):
    """The user's answer to such a request."""

    type: Literal["mcp_approval_response"]
    approval_request_id: Name
    approve: bool
    reason: str | None = Field(default=None, description="Ignored.")


class OtherItem(Model):
    """What a tool of the assistant did in an earlier response; it is ignored."""

    type: Name


Approval = ApprovalRequestItem | ApprovalResponseItem
Item = MessageItem | CallItem | CallOutputItem | SealedItem | Approval | OtherItem
TaggedItem = Annotated[Item, BY_TYPE]


class ConversationReference(Model):
    """A conversation of the caller."""

    id: Name
    after: str | None = Field(
        default=None,
        description="An extension of OpenAI's form: the item that the turn follows instead of the "
        "last one, which begins a branch. If empty, the turn follows none.",
    )
    informed: bool = Field(
        default=False,
        description="An extension of OpenAI's form: whether the person was told that teachers can "
        "read the question without a name. Only then the organisation may copy it for them.",
    )


class ConversationBody(Model):
    """A conversation with an assistant."""

    model: AssistantName
    input: Name | Annotated[list[TaggedItem], Field(min_length=1, max_length=MAX_MESSAGES)]
    previous_response_id: Name | None = Field(
        default=None, description="The stored response that this one follows."
    )
    conversation: Name | ConversationReference | None = Field(
        default=None, description="The conversation to which the input and the response are added."
    )
