"""The requests and responses of chat completions: for validation, and for `/openapi.json`.

Members of requests that are not here are passed to the model's provider.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)

from heddle_gateway.http.models import Model, Name
from heddle_gateway.openai.chat.traces import TraceEvent

MAX_MESSAGES = 4096
MAX_PARTS = 1024
MAX_FUNCTIONS = 512
Int32 = Annotated[int, Field(ge=1, le=2**31 - 1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]


def by_type(kinds: Mapping[str, str], default: str, other: str) -> Discriminator:
    """Return the choice among models by the member `type`.

    Args:
        kinds: The tags of the models by type.
        default: The type of a value without one.
        other: The tag for all other types.
    """

    def tag(value: object) -> str:
        kind = value.get("type", default) if isinstance(value, dict) else default
        return kinds.get(kind, other) if isinstance(kind, str) else other

    return Discriminator(tag)


def _url(value: object) -> object:
    """Return an image's address as an object; some clients send only the text."""
    return {"url": value} if isinstance(value, str) else value


def _check_count(count: int) -> int:
    if count != 1:
        raise ValueError("must be 1: an assistant returns one completion per request")
    return count


class TextPart(Model):
    """Text."""

    type: Literal["text"]
    text: str


class ImageUrl(Model):
    """The address of an image; a `data:` URL in base64 is possible, too."""

    url: Name = Field(json_schema_extra={"pattern": "^https://"})
    detail: Any = None


class ImagePart(Model):
    """An image."""

    type: Literal["image_url"]
    image_url: Annotated[ImageUrl, BeforeValidator(_url)]


class Audio(Model):
    """Audio data."""

    data: Name = Field(json_schema_extra={"contentEncoding": "base64"})
    format: Name = Field(examples=["mp3", "wav"])


class AudioPart(Model):
    """Audio."""

    type: Literal["input_audio"]
    input_audio: Audio


class FileContent(Model):
    """A file in base64, or as a `data:` URL, or the identifier of an uploaded file."""

    file_data: Name | None = Field(default=None, json_schema_extra={"contentEncoding": "base64"})
    file_id: str | None = Field(
        default=None,
        description="A file of the caller from `POST /v1/files`, of at most 20 MiB. Files of a "
        "provider cannot be used.",
    )
    filename: str | None = None


class FilePart(Model):
    """A file."""

    type: Literal["file"]
    file: FileContent


class OtherPart(Model):
    """A part that is passed to the provider unchanged."""

    type: Name = Field(
        json_schema_extra={"not": {"enum": ["text", "image_url", "input_audio", "file"]}}
    )


Part = TextPart | ImagePart | AudioPart | FilePart | OtherPart
_TaggedPart = Annotated[
    Annotated[TextPart, Tag("TextPart")]
    | Annotated[ImagePart, Tag("ImagePart")]
    | Annotated[AudioPart, Tag("AudioPart")]
    | Annotated[FilePart, Tag("FilePart")]
    | Annotated[OtherPart, Tag("OtherPart")],
    by_type(
        {
            "text": "TextPart",
            "image_url": "ImagePart",
            "input_audio": "AudioPart",
            "file": "FilePart",
        },
        default="",
        other="OtherPart",
    ),
]
Content = str | Annotated[list[_TaggedPart], Field(max_length=MAX_PARTS)]


class FunctionCall(Model):
    """A call of a function."""

    name: Name
    arguments: str | dict[str, Any] | None = None


class Call(Model):
    """A call of a client's function."""

    id: Name
    function: FunctionCall


def _function_calls(calls: object) -> object:
    """Return calls; None if one is not of a function: then the provider gets all unchanged."""
    items = calls if isinstance(calls, list) else ()
    foreign = any(isinstance(call, dict) and "function" not in call for call in items)
    return None if foreign else calls


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
    tool_calls: Annotated[
        Annotated[list[Call], Field(max_length=MAX_MESSAGES)] | None,
        BeforeValidator(_function_calls, json_schema_input_type=list[Any] | None),
    ] = Field(
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


def _with_one_role(message: object) -> object:
    """Return a message with its role; OpenAI's SDK joins the roles of all chunks of a stream."""
    if not isinstance(message, dict) or message.get("role") in (None, "user", "assistant"):
        return message
    is_joined = str(message["role"]).replace("assistant", "") == ""
    return {**message, "role": "assistant"} if is_joined else message


Message = Annotated[
    Annotated[
        UserMessage | AssistantMessage | ToolMessage | FunctionMessage, Field(discriminator="role")
    ],
    BeforeValidator(_with_one_role),
]


class Function(Model):
    """A function that the model may call."""

    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = Field(default=None, description="A JSON schema.")
    strict: bool | None = None


class FunctionName(Model):
    """The function that the model must call."""

    name: Name


class FunctionTool(Model):
    """A function of the client."""

    type: Literal["function"] = "function"
    function: Function


class OtherTool(Model):
    """A tool that is passed to the provider unchanged."""

    type: str = Field(json_schema_extra={"not": {"const": "function"}})


class ToolChoice(Model):
    """A function that the model must call, or a choice that is passed to the provider."""

    type: Name


class StreamOptions(Model):
    """Options of a stream."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class JsonSchemaFormat(Model):
    """The schema of an answer."""

    name: Name
    description: str | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    strict: bool | None = None


class ResponseFormat(Model):
    """The form of the answer."""

    type: Name = Field(examples=["text", "json_object", "json_schema"])
    json_schema: JsonSchemaFormat | None = None


Tool = FunctionTool | OtherTool
_TaggedTool = Annotated[
    Annotated[FunctionTool, Tag("FunctionTool")] | Annotated[OtherTool, Tag("OtherTool")],
    by_type({"function": "FunctionTool"}, default="function", other="OtherTool"),
]
AssistantName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=256,
        description="The assistant: `lamb_assistant.<id>`, its id, its name, or `LAMB:<name>`.",
    ),
]


class ConversationBody(Model):
    """A conversation. The `prompt` of older clients is accepted in place of `messages`."""

    model: AssistantName | None = None
    messages: list[Message] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        description="The oldest message first, with at most 10,000 parts in all.",
        examples=[[{"role": "user", "content": "Hello."}]],
    )
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Int32 | None = None
    max_completion_tokens: Int32 | None = Field(
        default=None, description="The newer name of `max_tokens`, which takes precedence."
    )
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    n: Annotated[int, AfterValidator(_check_count), WithJsonSchema({"const": 1})] | None = None
    tools: Annotated[list[_TaggedTool], Field(max_length=MAX_FUNCTIONS)] | None = Field(
        default=None, description="Functions of the client, with different names."
    )
    functions: Annotated[list[Function], Field(max_length=MAX_FUNCTIONS)] | None = Field(
        default=None,
        description="OpenAI's older form of `tools`. A call is returned as `function_call`.",
    )
    function_call: Literal["none", "auto"] | FunctionName | None = Field(
        default=None, description="OpenAI's older form of `tool_choice`, with `functions` only."
    )
    tool_choice: Name | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    stream_options: StreamOptions | None = Field(
        default=None, description="Ignored unless `stream`."
    )
    logprobs: bool | None = None
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100)]] | None = None
    response_format: ResponseFormat | None = None
    metadata: dict[str, Any] | None = None
    user: str | dict[str, Any] | None = Field(
        default=None, description="Open WebUI sends an object."
    )
    store: bool | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    modalities: list[str] | None = None
    audio: dict[str, Any] | None = None
    prediction: dict[str, Any] | None = None
    web_search_options: dict[str, Any] | None = None
    trace: bool | dict[str, Any] | None = Field(
        default=None,
        description="`true` adds the trace of the run to the response. An object is passed to the "
        "provider.",
    )
    debug_bypass: bool | None = Field(default=None, description="Return the prompt.")

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"messages": [{"role": "user", "content": "Hello."}]}]}
    )


class ChatBody(ConversationBody):
    """A conversation with an assistant."""

    model: AssistantName

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
    function_call: FunctionCall | None = Field(
        default=None, description="A call of one of `functions`."
    )
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
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter", "function_call"]


class CompletionUsage(Model):
    """Tokens of a completion."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ToolReport(Model):
    """How a tool ran. A tool that ran several times has several reports."""

    name: str = Field(description="The tool, or the function that the model called.")
    binding: str = Field(description="The tool's binding in the assistant.")
    outcome: Literal["used", "empty", "failed"] = Field(
        description="`empty`: the tool searched and found nothing."
    )
    seconds: float
    result_count: int | None = Field(default=None, description="How many items a search found.")
    error: dict[str, Any] | None = Field(
        default=None, description="`message`, `type` and `code`, as of an error response."
    )
    warnings: list[str] = Field(default=[], description="Parts of the work that failed.")


class ModelReplacement(Model):
    """Another model than the assistant's answered."""

    requested: str
    replacement: str


class RunReport(Model):
    """How tools ran and what failed. The client may receive further members."""

    request_id: str = Field(description="Operators find the details in the logs under this id.")
    tools: list[ToolReport]
    warnings: list[str] = Field(description="What failed, in sentences for users.")
    model_replaced: ModelReplacement | None = None


class ReportEvent(Model):
    """The report of a run."""

    type: Literal["report"]
    data: RunReport


class AgentEvent(Model):
    """A decision or an output of an assistant with the strategy `agent`."""

    type: Literal["decision", "output"]
    data: dict[str, Any]


class ChatCompletion(Model):
    """The completion, or with `stream` a stream of its chunks.

    With the header `X-Heddle-Warning` a tool failed, or another model answered.
    """

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice] = Field(min_length=1)
    usage: CompletionUsage
    sources: list[Any] = Field(default=[], description="Sources, in Open WebUI's form.")
    heddle: list[Annotated[AgentEvent | ReportEvent | TraceEvent, Field(discriminator="type")]] = (
        Field(
            default=[],
            description="What happened beside the message, the report last, after the trace.",
        )
    )
