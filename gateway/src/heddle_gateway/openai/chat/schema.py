"""The description of chat completions in `/openapi.json`.

The handler reads bodies without these models, for speed: see `request`, `messages` and `options`.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from heddle_gateway.http.models import Model, Name

_Int32 = Annotated[int, Field(ge=1, le=2**31 - 1)]
_Penalty = Annotated[float, Field(ge=-2, le=2)]


class TextPart(Model):
    """Text."""

    type: Literal["text"]
    text: str


class ImageUrl(Model):
    """The address of an image; a `data:` URL in base64 is possible, too."""

    url: str = Field(pattern="^https://")


class ImagePart(Model):
    """An image."""

    type: Literal["image_url"]
    image_url: ImageUrl


class Audio(Model):
    """Audio data."""

    data: str = Field(min_length=1, json_schema_extra={"contentEncoding": "base64"})
    format: Name = Field(examples=["mp3", "wav"])


class AudioPart(Model):
    """Audio."""

    type: Literal["input_audio"]
    input_audio: Audio


class OtherPart(Model):
    """A part that is passed to the provider unchanged."""

    type: str = Field(
        min_length=1, json_schema_extra={"not": {"enum": ["text", "image_url", "input_audio"]}}
    )


Content = str | list[TextPart | ImagePart | AudioPart | OtherPart]


class FunctionCall(Model):
    """A call of a function."""

    name: Name
    arguments: str | dict[str, Any] | None = None


class UserMessage(Model):
    """A message of the user or the system."""

    role: Literal["system", "developer", "user"]
    content: Content
    name: str | None = None


class AssistantMessage(Model):
    """A message of the assistant."""

    role: Literal["assistant"]
    content: Content | None = None
    name: str | None = None
    tool_calls: list[Any] | None = Field(
        default=None,
        description="Objects with `id` and `function`, a `name` and `arguments`. If one has "
        "another form, all are passed to the provider unchanged.",
    )
    function_call: FunctionCall | None = None


class ToolMessage(Model):
    """The result of a tool call."""

    role: Literal["tool"]
    content: Content
    name: str | None = None
    tool_call_id: Name


class FunctionMessage(Model):
    """The result of a function call, in OpenAI's older form."""

    role: Literal["function"]
    content: Content
    name: Name


class Function(Model):
    """A function that the model may call."""

    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = Field(default=None, description="A JSON schema.")
    strict: bool | None = None


class FunctionTool(Model):
    """A function of the client."""

    type: Literal["function"] = "function"
    function: Function


class OtherTool(Model):
    """A tool that is passed to the provider unchanged."""

    type: str = Field(json_schema_extra={"not": {"const": "function"}})


class LambChatBody(Model):
    """A conversation. LAMB's older `prompt` is accepted in place of `messages`."""

    messages: list[UserMessage | AssistantMessage | ToolMessage | FunctionMessage] = Field(
        min_length=1,
        description="The oldest message first: at most 4096 messages with at most 10,000 parts.",
        examples=[[{"role": "user", "content": "Hello."}]],
    )
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: _Int32 | None = None
    max_completion_tokens: _Int32 | None = None
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    frequency_penalty: _Penalty | None = None
    presence_penalty: _Penalty | None = None
    n: Literal[1] | None = None
    tools: list[FunctionTool | OtherTool] | None = Field(
        default=None, description="Functions of the client, with different names."
    )

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"messages": [{"role": "user", "content": "Hello."}]}]}
    )


class ChatBody(LambChatBody):
    """A conversation with an assistant."""

    model: str = Field(
        min_length=1,
        max_length=256,
        description="The assistant: `lamb_assistant.<id>`, its id, its name, or `LAMB:<name>`.",
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": "lamb_assistant.1",
                    "messages": [{"role": "user", "content": "Hello."}],
                }
            ]
        }
    )


class CompletionMessage(Model):
    """The message of a completion. The client may receive further members."""

    role: Literal["assistant"]
    content: str | None
    refusal: str | None
    images: list[Any] = Field(
        default=[],
        description="Generated images as `data:` URLs. In `content` they are Markdown whose links "
        "lead to `/v1/pictures/{name}`.",
    )


class Choice(Model):
    """The choice of a completion; there is one."""

    index: int
    message: CompletionMessage
    logprobs: dict[str, Any] | None
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"]


class CompletionUsage(Model):
    """Tokens of a completion."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(Model):
    """The completion, or with `stream` a stream of its chunks.

    With the header `X-Heddle-Warning` another model than the assistant's has answered.
    """

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice] = Field(min_length=1)
    usage: CompletionUsage
    sources: list[Any] = Field(default=[], description="Sources, in Open WebUI's form.")
    heddle: list[Any] = Field(
        default=[], description="Decisions and outputs of an assistant with the strategy `agent`."
    )
