"""The routes of `/v1/messages`."""

from collections.abc import Collection, Iterator
from typing import Any

from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest, RunWholeCompletionRequest

from heddle_gateway.auth.sealed_texts import BoundTexts, SealedTexts
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.http.models import validate
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.anthropic import schema
from heddle_gateway.openai.anthropic.blocks import add_system, add_turn
from heddle_gateway.openai.anthropic.encoder import MessageEncoder
from heddle_gateway.openai.anthropic.schema import CountBody, Message, MessagesBody, TokenCount
from heddle_gateway.openai.chat.completions import OPTIONS, respond
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_gateway.openai.chat.options import declare, function_choice, left_out, set_options
from heddle_gateway.openai.chat.request import ChatRequest, count_parts
from heddle_gateway.routing import Call, Routes
from heddle_gateway.state import State

_OWN_TOOLS = (None, "custom")
_CHOICES = {"any": "required", "none": "none"}
_DEFAULT_EFFORT = "high"
# Efforts by the largest part of the answer's tokens that the reasoning may have.
_EFFORTS = ((0.2, "low"), (0.5, "medium"))
_CHARS_PER_TOKEN = 4
_TOKENS_OF_MEDIA = 1_600


class MessagesRequest(ChatRequest, frozen=True, kw_only=True):
    """A parsed request."""

    sealed: BoundTexts

    def encoder(self, answer: Answer, *, streamed: bool = True) -> MessageEncoder:
        """Return what writes the message, streamed or whole."""
        trace = self.run.include_trace
        return MessageEncoder(self.model, answer, self.sealed.seal, trace=trace, streamed=streamed)


async def read(state: State, body: bytes) -> ChatRequest:
    """Translate the body of `POST /v1/messages`.

    Raises:
        InvalidRequestError: The body is invalid.
    """
    return parse_request(body, state.reasoning)


def parse_request(body: bytes, texts: SealedTexts) -> MessagesRequest:
    """Translate the body of `POST /v1/messages`, with what clients store for providers."""
    members, place = parse(body)
    count_parts(members.get("messages"), place / "messages")
    parsed = validate(schema.MessagesBody, members)
    sealed = BoundTexts(texts, parsed.model)
    whole = RunWholeCompletionRequest()
    warnings = fill(whole.run, parsed, place, sealed)
    extra = dict(_extra(parsed, place, {each.name for each in whole.run.functions}))
    set_options(whole.run.options, parsed, parsed.max_tokens, parsed.stop_sequences, extra)
    return MessagesRequest(
        whole,
        parsed.model,
        bool(parsed.stream),
        usage=True,
        has_parts=any(part.HasField("file") for each in whole.run.messages for part in each.parts),
        warnings=tuple(warnings),
        sealed=sealed,
    )


def fill(
    run: RunCompletionRequest, body: schema.CountBody, place: Place, sealed: BoundTexts
) -> list[str]:
    """Fill in the assistant, the conversation and the tools, and return warnings about them."""
    run.assistant_reference = body.model
    if body.system:
        add_system(run.messages, body.system)
    for index, turn in enumerate(body.messages):
        add_turn(run.messages, turn, place.at("messages", index), sealed)
    names: set[str] = set()
    hosted: list[str] = []
    for index, tool in enumerate(body.tools or ()):
        if tool.type in _OWN_TOOLS:
            at = place.at("tools", index)
            if tool.input_schema is None:
                raise (at / "input_schema").invalid("is required")
            run.functions.append(declare(tool, at, names, "input_schema"))
        else:
            hosted.append(tool.name)
    choice = body.tool_choice
    if choice is not None and choice.type == "tool" and choice.name not in {*names, *hosted}:
        raise place.at("tool_choice", "name").invalid("is none of the tools")
    return [left_out(each) for each in hosted]


def estimate(run: RunCompletionRequest) -> int:
    """Return the tokens of a conversation and its tools: four characters are a token."""
    chars = media = 0
    for message in run.messages:
        texts = [part.text for part in message.parts if part.HasField("text")]
        media += len(message.parts) - len(texts)
        chars += sum(map(len, texts))
        chars += sum(len(each.name) + len(each.arguments_json) for each in message.tool_calls)
    for each in run.functions:
        chars += len(each.name) + len(each.description) + len(each.parameters_schema_json)
    return -(-chars // _CHARS_PER_TOKEN) + media * _TOKENS_OF_MEDIA


def _extra(
    body: schema.MessagesBody, place: Place, functions: Collection[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the options that providers of chat completions read."""
    choice = body.tool_choice
    if functions and choice is not None:
        if choice.type in _CHOICES:
            yield "tool_choice", _CHOICES[choice.type]
        elif (
            choice.type == "tool" and choice.name and choice.name in functions
        ):  # else it was left out
            yield "tool_choice", function_choice(choice.name)
        if choice.disable_parallel_tool_use:
            yield "parallel_tool_calls", False
    config = body.output_config or schema.OutputConfig()
    if config.format is not None:
        exact = place.at("output_config", "format").part("schema")
        form = {"name": "answer", "schema": exact, "strict": True}
        yield "response_format", {"type": "json_schema", "json_schema": form}
    if effort := _effort(body, config):
        yield "reasoning_effort", effort


def _effort(body: schema.MessagesBody, config: schema.OutputConfig) -> str:
    """Return the effort of the reasoning; empty for the model's own.

    Clients send the default of Anthropic's API to models that do not reason and may refuse it.
    """
    if config.effort not in (None, _DEFAULT_EFFORT):
        return str(config.effort)
    thinking = body.thinking
    if thinking is None or thinking.type != "enabled" or thinking.budget_tokens is None:
        return ""
    part = thinking.budget_tokens / body.max_tokens
    return next((effort for most, effort in _EFFORTS if part <= most), _DEFAULT_EFFORT)


_ESTIMATE = "x-heddle-estimate"
routes = Routes("completions")


@routes.post("/v1/messages", **{**OPTIONS, "body_model": MessagesBody, "returns": Message})
async def create(state: State, request: RawRequest) -> None:
    """Answer a conversation as an assistant, in the form of Anthropic's Messages.

    The run is that of a chat completion, with the same headers, limits and traces. The key may be
    in `x-api-key`. `anthropic-version` and `anthropic-beta` have no effect. Errors have Anthropic's
    form. With `stream` the response is a stream of server-sent events that ends with
    `message_stop` or `error`.

    `system` follows the assistant's own prompt. The assistant's own tools run unseen; their sources
    are citations of the text: `web_search_result_location` with a web address, else
    `search_result_location`. Progress is an event `ping` with a member `event` or `heddle`. What
    the model's provider needs back with calls is a block `redacted_thinking`; only the same caller
    can use it, with the same assistant.
    """
    await respond(state, request, "", read=read)


@routes.post(
    "/v1/messages/count_tokens",
    headers={"X-Heddle-Estimate": "`true`: the number is an estimate."},
)
async def count_tokens(api: Call, body: CountBody) -> TokenCount:
    """Estimate the tokens of a conversation: four characters are a token.

    The assistant's own prompt, and what its tools find, are not counted.
    """
    run = RunCompletionRequest()
    fill(run, body, api.json, BoundTexts(api.state.reasoning, body.model))
    api.headers[_ESTIMATE] = "true"
    return TokenCount(input_tokens=estimate(run))
