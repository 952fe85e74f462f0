"""The requests of chat completions: for validation, and for `/openapi.json`.

Members of requests that are not here are passed to the model's provider.
"""

from typing import Annotated, Any, Literal

from heddle_runtime.contract.limits import MAX_CANDIDATES
from pydantic import ConfigDict, Field

from heddle_gateway.http.models import Model, Name
from heddle_gateway.openai.chat.message_schema import BY_TYPE, MAX_MESSAGES, Message

MAX_FUNCTIONS = 512
Int32 = Annotated[int, Field(ge=1, le=2**31 - 1)]
Limit = Annotated[int, Field(ge=0, le=2**31 - 1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]


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
_TaggedTool = Annotated[Tool, BY_TYPE]
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
    max_tokens: Limit | None = Field(
        default=None, description="0 counts as 1, the least that a model can write."
    )
    max_completion_tokens: Limit | None = Field(
        default=None, description="The newer name of `max_tokens`, which takes precedence."
    )
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    n: Annotated[int, Field(ge=1, le=MAX_CANDIDATES)] | None = Field(
        default=None,
        description="The number of choices, 1 by default. Only 1 for an assistant whose model or "
        "agent calls its tools. The usage is that of all choices.",
    )
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
