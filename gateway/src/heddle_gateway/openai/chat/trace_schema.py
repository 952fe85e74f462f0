"""The trace of a run, for the editor of an assistant."""

from typing import Annotated, Any, Literal

from pydantic import Field

from heddle_gateway.http.models import Model

Kind = Literal["tool", "model", "decision"]
Seconds = Annotated[float, Field(ge=0)]
Position = Annotated[int, Field(ge=0)]


class TraceError(Model):
    """The failure of a step."""

    reason: str = Field(description="Empty if the choice of a router was rejected.")
    message: str


class TraceUsage(Model):
    """The tokens of a request to a model."""

    prompt_tokens: int
    cached_tokens: int = Field(description="Part of `prompt_tokens`.")
    completion_tokens: int
    reasoning_tokens: int = Field(description="Part of `completion_tokens`.")


class TraceSource(Model):
    """What a tool found."""

    title: str
    uri: str = Field(description="Where to read it. May be empty.")
    excerpt: str
    page: int | None = Field(description="Counted from 1.")
    page_image: str | None = Field(
        description="The path of `GET /v1/vector_stores/{id}/files/{file}/pages/{page}`, if there "
        "is an image of the page."
    )


class TraceStep(Model):
    """A run of a tool, a request to a model, or a decision of the routing agent."""

    name: str = Field(
        description="The binding, the function that the model called, the router, or `model`."
    )
    kind: Kind
    start: Seconds | None = Field(
        description="Seconds after the start of the run. Null if the step did not run."
    )
    seconds: Seconds
    binding: str | None
    tool: str | None
    slot: str | None = Field(description="The slot that a tool fills.")
    call_id: str | None = Field(description="The call of the model, if it called the tool.")
    input: dict[str, Any] = Field(
        description="The configuration of a tool, the arguments of a call, or the `choices` of a "
        "decision. Arguments that are not a JSON object are the text of a member `malformed`."
    )
    output: str = Field(description="At most the first 20,000 characters.")
    output_cut: bool
    output_chars: int = Field(description="Of the complete output.")
    error: TraceError | None
    model: str | None = Field(description="`connector/model`.")
    usage: TraceUsage | None = Field(description="Null if the provider did not report it.")
    cost_usd: float | None = Field(description="Null if the model has no price.")
    sources: list[TraceSource] = Field(
        description="Of a tool. Also those that did not reach the model."
    )


class TraceRange(Model):
    """A part of a text of the prompt."""

    message: Position = Field(description="The position of the message in `prompt`.")
    part: Position = Field(description="The position in `parts` of the message.")
    start: Position = Field(description="In Unicode code points.")
    end: Position = Field(description="After the last code point.")


class TraceSlot(Model):
    """A text that a tool or the user brought into the prompt."""

    slot: str | None = Field(
        description="`user_input` is the question. Null for a text outside of the template: the "
        "result of a called function, a passage of the routing agent, or a note about a tool."
    )
    text: str = Field(description="At most the first 20,000 characters.")
    text_cut: bool
    step: Position | None = Field(description="The position in `steps`.")
    tool: str | None
    ranges: list[TraceRange] = Field(
        description="Where the text is in `prompt`, at most 100 places. Empty if it is not there, "
        "or if a secret that was replaced crosses its edge."
    )


class TraceCall(Model):
    """A call of a function in the prompt."""

    id: str
    name: str
    arguments: str


class TraceMessage(Model):
    """A message of the prompt, without images."""

    role: Literal["system", "user", "assistant", "tool", "developer"]
    parts: list[str]
    tool_calls: list[TraceCall]
    tool_call_id: str | None


class Trace(Model):
    """What happened in a run, without secrets. Nothing stores it."""

    has_texts: bool = Field(
        description="Whether the caller may change the assistant. If not, lengths replace the "
        "texts of tools, and there are no outputs and slots."
    )
    steps: list[TraceStep] = Field(description="`start` gives the order in time.")
    slots: list[TraceSlot]
    prompt: list[TraceMessage] = Field(
        description="The messages of the last request to the model that answers."
    )


class TraceEvent(Model):
    """The trace of a run. In a stream it comes before the last chunk."""

    type: Literal["trace"] = "trace"
    data: Trace
