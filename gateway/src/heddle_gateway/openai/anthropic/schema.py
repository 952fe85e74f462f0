"""The requests and responses of `/v1/messages`: for validation, and for `/openapi.json`.

Null means absent, and unknown members of requests are ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from heddle_gateway.http.models import Model, Name
from heddle_gateway.openai.chat.message_schema import BY_TYPE, MAX_MESSAGES, MAX_PARTS
from heddle_gateway.openai.chat.schema import MAX_FUNCTIONS, AssistantName, Int32


class TextBlock(Model):
    """Text."""

    type: Literal["text"]
    text: str


class Source(Model):
    """The content of an image or a document."""

    type: Name = Field(examples=["base64", "url", "text", "content"])
    media_type: str | None = None
    data: str | None = Field(default=None, description="In base64; of `text`, the text.")
    url: Name | None = Field(default=None, description="`https:`, of an image only.")
    content: str | Annotated[list[TextBlock], Field(max_length=MAX_PARTS)] | None = None


class ImageBlock(Model):
    """An image."""

    type: Literal["image"]
    source: Source


class DocumentBlock(Model):
    """A document."""

    type: Literal["document"]
    source: Source
    title: str | None = None


class SearchResultBlock(Model):
    """What a search of the client found."""

    type: Literal["search_result"]
    source: str
    title: str
    content: Annotated[list[TextBlock], Field(max_length=MAX_PARTS)]


class ToolUseBlock(Model):
    """A call of a client's tool, which an earlier message asked for."""

    type: Literal["tool_use"]
    id: Name
    name: Name
    input: dict[str, Any]


class SealedBlock(Model):
    """What the model's provider needs back with the calls of an earlier message."""

    type: Literal["redacted_thinking"]
    data: str


class OtherBlock(Model):
    """Reasoning, and what a hosted tool did in an earlier message; it is ignored."""

    type: Name


Part = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | OtherBlock


class ToolResultBlock(Model):
    """The result of a call."""

    type: Literal["tool_result"]
    tool_use_id: Name
    content: str | Annotated[list[Annotated[Part, BY_TYPE]], Field(max_length=MAX_PARTS)] | None = (
        None
    )
    is_error: bool | None = None


Block = Part | ToolUseBlock | ToolResultBlock | SealedBlock


class Turn(Model):
    """A message."""

    role: Literal["user", "assistant", "system"]
    content: str | Annotated[list[Annotated[Block, BY_TYPE]], Field(max_length=MAX_PARTS)]


class Tool(Model):
    """A tool of the client, or a hosted one, which is left out."""

    type: str | None = Field(default=None, description="`custom`, for the client's own tools.")
    name: Name
    description: str | None = None
    input_schema: dict[str, Any] | None = Field(default=None, description="Of the client's tools.")
    strict: bool | None = None


class ToolChoice(Model):
    """Whether the model may or must call tools."""

    type: Literal["auto", "any", "tool", "none"]
    name: Name | None = Field(default=None, description="With `tool`.")
    disable_parallel_tool_use: bool | None = None


class Thinking(Model):
    """Whether the model reasons before its answer."""

    type: Name = Field(examples=["adaptive", "enabled", "disabled"])
    budget_tokens: Int32 | None = None


class OutputFormat(Model):
    """The form of the answer."""

    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class OutputConfig(Model):
    """Options of the answer."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, description="`high`, the default, leaves the choice to the model."
    )
    format: OutputFormat | None = None


class CountBody(Model):
    """A conversation whose tokens are counted."""

    model: AssistantName
    messages: list[Turn] = Field(min_length=1, max_length=MAX_MESSAGES)
    system: str | Annotated[list[TextBlock], Field(max_length=MAX_PARTS)] | None = Field(
        default=None, description="Follows the assistant's own prompt, which stays."
    )
    tools: Annotated[list[Tool], Field(max_length=MAX_FUNCTIONS)] | None = Field(
        default=None, description="Hosted tools are left out, with a warning."
    )
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "Hello."}]}
            ]
        }
    )


class MessagesBody(CountBody):
    """A conversation with an assistant."""

    max_tokens: Int32
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    stop_sequences: Annotated[list[Name], Field(max_length=4)] | None = None
    metadata: dict[str, Any] | None = None

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": "lamb_assistant.1",
                    "max_tokens": 1024,
                    "messages": [{"role": "user", "content": "Hello."}],
                }
            ]
        }
    )


class Message(Model):
    """The answer, or with `stream` a stream of events.

    With the header `X-Heddle-Warning` a tool failed, another model answered, or a hosted tool of
    the request was left out.
    """

    id: str = Field(pattern="^msg_")
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[dict[str, Any]] = Field(
        description="`text`, `thinking`, `redacted_thinking` and `tool_use`. Sources are "
        "`citations` of a text."
    )
    stop_reason: Literal[
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "tool_use",
        "refusal",
        "pause_turn",
        "model_context_window_exceeded",
    ]
    stop_sequence: str | None
    usage: dict[str, Any]
    heddle: list[dict[str, Any]] = Field(
        default=[], description="As in a chat completion: decisions, outputs, trace and report."
    )


class TokenCount(Model):
    """The number of tokens."""

    input_tokens: int = Field(description="An estimate of the request alone.")
