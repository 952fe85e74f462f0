"""The responses of chat completions, for `/openapi.json`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from heddle_gateway.http.models import Model
from heddle_gateway.openai.chat.message_schema import FunctionCall
from heddle_gateway.openai.chat.run_report import TraceEvent


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
