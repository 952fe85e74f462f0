"""The requests and responses of `/v1/responses`: for validation, and for `/openapi.json`.

Null means absent, and unknown members of requests are ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from heddle_gateway.http.models import Model, Name
from heddle_gateway.openai.chat.message_schema import BY_TYPE, MAX_MESSAGES
from heddle_gateway.openai.chat.schema import MAX_FUNCTIONS, Function, Int32, Penalty
from heddle_gateway.openai.conversations.schema import ConversationBody, TaggedItem


class FunctionTool(Function):
    """A function of the client."""

    type: Literal["function"]


class CustomFormat(Model):
    """The form of a custom tool's input."""

    type: Literal["text"]


class CustomTool(Model):
    """A tool of the client with one text as its input."""

    type: Literal["custom"]
    name: Name
    description: str | None = None
    format: CustomFormat | None = None


class FileSearchTool(Model):
    """A search in vector stores of the caller."""

    type: Literal["file_search"]
    vector_store_ids: Annotated[list[Name], Field(min_length=1, max_length=64)]
    max_num_results: Annotated[int, Field(ge=1, le=50)] | None = Field(
        default=None, description="Of each store, 10 by default, at most 20."
    )
    filters: Any = Field(default=None, description="Not supported.")
    ranking_options: Any = Field(default=None, description="Ignored.")


class McpTool(Model):
    """Tools of an MCP server that the settings of the caller's organisation have."""

    type: Literal["mcp"]
    server_label: Name = Field(description="Its name in `mcp_servers`.")
    server_url: str | None = Field(default=None, description="Not supported: it is left out.")
    allowed_tools: list[Name] | dict[Literal["tool_names"], list[Name]] | None = Field(
        default=None, description="By default all that the organisation has accepted."
    )
    require_approval: Literal["always", "never"] | dict[str, Any] | None = Field(
        default=None,
        description="By default the user approves calls that can destroy something.",
    )


class OtherTool(Model):
    """A tool of any type. Clients cannot declare those of other types."""

    type: Name
    name: str | None = None


WEB_SEARCHES = frozenset({"web_search", "web_search_preview"})
HOSTED = frozenset({"file_search", "mcp", "image_generation", "namespace", *WEB_SEARCHES})
"""The types of hosted tools. Those that the installation does not have are left out."""
Tool = FunctionTool | CustomTool | FileSearchTool | McpTool | OtherTool
_TaggedTool = Annotated[Tool, BY_TYPE]


class ToolChoice(Model):
    """The tool that the model must call, or the tools that it may call (`allowed_tools`)."""

    type: Name
    name: str | None = None
    mode: Literal["auto", "required"] = "auto"
    tools: Annotated[list[OtherTool], Field(max_length=MAX_FUNCTIONS)] | None = None


class TextFormat(Model):
    """The form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    description: str | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    strict: bool | None = None


class TextOptions(Model):
    """Options of the text."""

    format: TextFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningOptions(Model):
    """Options of the reasoning."""

    effort: str | None = None
    summary: str | None = None


class CompactBody(ConversationBody):
    """A conversation to summarise."""

    input: Name | Annotated[list[TaggedItem], Field(max_length=MAX_MESSAGES)] = Field(
        default_factory=list
    )
    instructions: str | None = Field(default=None, description="Ignored.")
    prompt_cache_key: str | None = Field(default=None, description="Ignored.")


class Compaction(Model):
    """A conversation as one item `compaction`, which the same caller can send as input."""

    id: str = Field(pattern="^resp_")
    object: Literal["response.compaction"]
    created_at: int
    output: list[dict[str, Any]]
    usage: dict[str, Any] | None


class ResponsesBody(ConversationBody):
    """A turn of a conversation with an assistant."""

    instructions: str | None = Field(
        default=None, description="Follows the assistant's own prompt, which stays."
    )
    stream: bool | None = None
    store: bool | None = Field(
        default=None,
        description="Whether the response is stored, by default `true`. The response says `false` "
        "if it is not, for example because the organisation stores nothing.",
    )
    background: bool | None = Field(
        default=None,
        description="Whether the run continues without the client, which reads the response with "
        "`GET /v1/responses/{id}`. It must be stored.",
    )
    include: list[str] | None = Field(
        default=None,
        description="`reasoning.encrypted_content`, `file_search_call.results`, "
        "`web_search_call.action.sources` and `message.output_text.logprobs` have an effect.",
    )
    tools: Annotated[list[_TaggedTool], Field(max_length=MAX_FUNCTIONS)] | None = Field(
        default=None,
        description="Functions and custom tools of the client, and hosted tools: `file_search`, "
        "`web_search` and `mcp` run with the rights of the caller. Without the right `run_tools`, "
        "or where the installation lacks them, they are left out with a warning.",
    )
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: Int32 | None = None
    max_output_tokens: Int32 | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    truncation: Literal["auto", "disabled"] | None = Field(
        default=None,
        description="With `auto` the oldest turns are left out if the model cannot read all. This "
        "is the default with `previous_response_id` and `conversation`.",
    )
    context_management: list[dict[str, Any]] | None = Field(
        default=None, description="As `truncation: auto`."
    )
    metadata: dict[str, Any] | None = None
    service_tier: str | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "lamb_assistant.1", "input": "Hello."}]}
    )


class Response(Model):
    """The response, or with `stream` a stream of events.

    With the header `X-Heddle-Warning` a tool failed, or another model answered. The client receives
    further members, most of which repeat the request.
    """

    id: str = Field(pattern="^resp_")
    object: Literal["response"]
    created_at: int
    completed_at: int | None
    status: Literal["completed", "incomplete", "in_progress", "failed", "cancelled"]
    model: str
    output: list[dict[str, Any]] = Field(
        description="`message`, `reasoning`, `function_call` and `custom_tool_call`; and for tools "
        "of the assistant `file_search_call`, `web_search_call`, `mcp_call` and "
        "`image_generation_call`."
    )
    usage: dict[str, Any] | None
    store: bool
    error: dict[str, Any] | None
    incomplete_details: dict[str, Any] | None
    heddle: list[dict[str, Any]] = Field(
        default=[], description="As in a chat completion: decisions, outputs, trace and report."
    )
