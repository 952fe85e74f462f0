"""Translates the body of `/v1/responses` into a request to the orchestrator."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from heddle.chat.v1 import chat_pb2 as pb
from heddle.conversation.v1 import conversation_pb2 as pb_items
from heddle.orchestrator.v1.orchestrator_pb2 import RunWholeCompletionRequest

from heddle_gateway.auth.sealed_texts import BoundTexts, SealedTexts
from heddle_gateway.http.error_responses import RejectedRequestError, rejected
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.http.models import validate
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai.chat.event_encoder import Answer, Encoder
from heddle_gateway.openai.chat.event_stream import HEADERS
from heddle_gateway.openai.chat.file_references import READ
from heddle_gateway.openai.chat.options import declare, function_choice, set_options
from heddle_gateway.openai.chat.request import ChatRequest, count_parts, is_task
from heddle_gateway.openai.chat.schema import Function
from heddle_gateway.openai.conversations.background import follow, start
from heddle_gateway.openai.conversations.items import Conversation
from heddle_gateway.openai.conversations.turns import (
    LastTurn,
    Turn,
    documents,
    input_items,
    put_request,
    read_turn,
    store,
)
from heddle_gateway.openai.responses import schema
from heddle_gateway.openai.responses.encoder import ResponseEncoder
from heddle_gateway.openai.responses.hosted_tools import (
    SEARCH,
    WEB_SEARCH,
    HostedTools,
    hosted_tools,
)
from heddle_gateway.openai.responses.item_encoder import ResponseForm
from heddle_gateway.openai.responses.schema import ResponsesBody
from heddle_gateway.state import State

_UNSUPPORTED = ("prompt", "moderation")
_NONE = HostedTools()
_SEALED = "reasoning.encrypted_content"
_LOGPROBS = "message.output_text.logprobs"
# Members of a response that repeat those of the request, and what they are without them.
_ECHOED: Mapping[str, Any] = {
    **dict.fromkeys(("instructions", "max_output_tokens", "max_tool_calls", "user")),
    **dict.fromkeys(("safety_identifier", "prompt_cache_key")),
    **dict.fromkeys(("temperature", "top_p"), 1.0),
    **dict.fromkeys(("presence_penalty", "frequency_penalty"), 0.0),
    "metadata": {},
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "top_logprobs": 0,
}
_FIXED: Mapping[str, Any] = {"service_tier": "default"}
_INPUT_SCHEMA = (
    '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],'
    '"additionalProperties":false}'
)
# Members that providers of chat completions read in the same form.
_PASSED_ON = (
    *("parallel_tool_calls", "presence_penalty", "frequency_penalty", "metadata"),
    *("service_tier", "user", "safety_identifier", "prompt_cache_key"),
)


class ResponsesRequest(ChatRequest, frozen=True, kw_only=True):
    """A parsed request."""

    form: ResponseForm
    turn: Turn
    items: Sequence[pb_items.Item] = ()
    """The items of the input, if the response is stored or follows on a connection."""
    empty: bool = False
    """Whether no model is asked."""

    def encoder(self, answer: Answer, *, streamed: bool = True) -> ResponseEncoder:
        """Return what writes the response, streamed or whole."""
        return ResponseEncoder(self.form, answer, trace=self.run.include_trace, streamed=streamed)

    def adopt(self, texts: Mapping[str, str]) -> None:
        """Store texts: a conversation reads its documents once."""
        for index, item in enumerate(self.items):
            at = f"input[{index}].content["
            own = {place: text for place, text in texts.items() if place.startswith(at)}
            document = msgspec.json.decode(item.document_json) if own else {}
            for place, text in own.items():
                encoded = b64encode(text.encode()).decode()
                part = document["content"][int(place.removeprefix(at)[:-1])]
                part["file_data"] = f"data:{READ};base64,{encoded}"
                item.document_json = msgspec.json.encode(document).decode()

    async def detach(self, state: State, request: RawRequest, answer: Answer) -> RawResponse | None:
        """Begin a run in the background; return its response, None if its events were sent."""
        encoder = self.encoder(answer)
        if self.empty:
            await request.start(200, HEADERS)
            frames = encoder.empty()
            await request.write(frames + await self.end(state, encoder), last=True)
            return None
        body, put = encoder.body(), partial(self._put, encoder)
        run = await start(state, self.run, encoder, encoder.response, put)
        if not self.stream:
            return RawResponse(200, body)
        await follow(state, request, run)
        return None

    async def end(self, state: State, encoder: Encoder) -> bytes:
        """Store the response, and return the frame that ends it."""
        assert isinstance(encoder, ResponseEncoder)  # noqa: S101 - made here
        if self.items:
            put, last_turn = self._put(encoder), self.turn.last_turn
            stored = self.turn.stores and await store(state, put)
            encoder.response["store"] = stored
            if last_turn is not None and not stored:
                items = [*self.turn.items, *documents(put.input), *documents(put.output)]
                last_turn.keep(put.response.id, items)
        return encoder.end()

    def _put(self, encoder: ResponseEncoder) -> pb_items.PutResponseRequest:
        request = put_request(encoder.response, self.turn, self.items, self.model)
        if encoder.first_token is not None:
            request.first_token.FromMilliseconds(round(encoder.first_token * 1000))
        return request


async def read(state: State, body: bytes, last_turn: LastTurn | None = None) -> ChatRequest:
    """Translate the body of `POST /v1/responses`, or a message of a connection with a last turn.

    Raises:
        InvalidRequestError: The body is invalid.
        RejectedRequestError: It asks for what Heddle does not offer, or what is not stored.
    """
    members, place = parse(body)
    if last_turn is not None:
        _check_message(members, place)
    parsed = checked(members, place)
    turn = await read_turn(state, parsed, members, last_turn)
    hosted = await hosted_tools(state, parsed.tools or (), place / "tools")
    return translated(parsed, members, place, state.reasoning, turn, hosted)


def _check_message(members: dict[str, Any], place: Place) -> None:
    """Make the members of a message those of a body."""
    if members.get("type") != "response.create":
        raise (place / "type").invalid("must be 'response.create'")
    if members.get("background"):
        raise (place / "background").invalid("is not possible in a message")
    members["stream"] = True


def checked(members: dict[str, Any], place: Place) -> ResponsesBody:
    """Return the members of a body as a model. Raises as `read`."""
    count_parts(members.get("input"), place / "input")
    parsed = validate(ResponsesBody, members)
    for name in _UNSUPPORTED:
        if members.get(name) is not None:
            message = f"Heddle does not support {name}. Leave it out."
            raise rejected(name, message, "unsupported_parameter")
    return parsed


def translated(
    parsed: ResponsesBody,
    members: dict[str, Any],
    place: Place,
    sealed: SealedTexts,
    turn: Turn,
    hosted: HostedTools = _NONE,
) -> ResponsesRequest:
    """Translate a body, with the reasoning that clients store. Raises as `read`."""
    reasoning = BoundTexts(sealed, parsed.model)
    whole = RunWholeCompletionRequest()
    run = whole.run
    run.assistant_reference = parsed.model
    run.truncate = truncation(parsed) == "auto"
    conversation = Conversation(run.messages, reasoning.open, turn)
    if parsed.instructions:
        conversation.add_text(pb.ROLE_DEVELOPER, parsed.instructions, "instructions")
    conversation.add_turn(parsed, members, place)
    run.functions.extend(_functions(parsed, place / "tools"))
    run.extra_tools.extend(hosted.bindings)
    extra = _extra(parsed, place, hosted, has_functions=bool(run.functions))
    set_options(run.options, parsed, parsed.max_output_tokens, None, extra)
    include = frozenset(parsed.include or ())
    form = ResponseForm(
        echo=_echo(parsed, members) | turn.echo(),
        include=include,
        custom_tools=frozenset(
            each.name for each in parsed.tools or () if isinstance(each, schema.CustomTool)
        ),
        seal=reasoning.seal if _SEALED in include else None,
    )
    if parsed.background and not turn.stores:
        message = "Responses that run in the background must be stored: leave out store."
        raise rejected("background", message, "invalid_request")
    stream = bool(parsed.stream)
    is_empty = turn.last_turn is not None and members.get("generate") is False
    task = is_task(_as_chat(parsed, members), stream=stream)
    return ResponsesRequest(
        whole,
        parsed.model,
        stream,
        usage=True,
        task=task,
        has_parts=bool(turn.items) or not isinstance(parsed.input, str),
        background=bool(parsed.background) or is_empty,
        warnings=hosted.warnings,
        places=tuple(conversation.places),
        form=form,
        turn=turn,
        items=input_items(members, turn) if (turn.stores or turn.last_turn) and not task else (),
        empty=is_empty,
    )


def truncation(body: ResponsesBody) -> str:
    """Return whether old turns are left out: by default of conversations that Heddle stores."""
    reasons = (body.previous_response_id, body.conversation, body.context_management)
    return body.truncation or ("auto" if any(reasons) else "disabled")


def _as_chat(body: ResponsesBody, members: dict[str, Any]) -> dict[str, Any]:
    """Return what shows whether a chat completion is a task of Open WebUI."""
    items = [{"content": body.input}] if isinstance(body.input, str) else members["input"]
    return {"metadata": body.metadata, "messages": items}


def _functions(body: ResponsesBody, place: Place) -> list[pb.FunctionDeclaration]:
    """Return the client's own functions that the model may call."""
    names: set[str] = set()
    declared = [
        _declared(tool, place / index, names)
        for index, tool in enumerate(body.tools or ())
        if tool.type not in schema.HOSTED
    ]
    choice = body.tool_choice
    if isinstance(choice, schema.ToolChoice) and choice.type == "allowed_tools":
        allowed = {each.name for each in choice.tools or ()}
        return [each for each in declared if each.name in allowed]
    return declared


def _declared(tool: Any, place: Place, names: set[str]) -> pb.FunctionDeclaration:  # noqa: ANN401 - a union's case
    match tool:
        case schema.FunctionTool():
            return declare(tool, place, names)
        case schema.CustomTool():
            function = Function(name=tool.name, description=tool.description)
            declared = declare(function, place, names)
            declared.parameters_schema_json = _INPUT_SCHEMA
            return declared
        case _:
            raise _unsupported_tool(str(place / "type"), tool.type)


def _extra(
    body: ResponsesBody, place: Place, hosted: HostedTools, *, has_functions: bool
) -> dict[str, Any]:
    """Return the options that providers of chat completions read."""
    extra: dict[str, Any] = {
        name: place.part(name) for name in _PASSED_ON if getattr(body, name) is not None
    }
    choice = _tool_choice(body, place, hosted)
    if body.tools and not (has_functions or hosted.bindings) and choice == "required":
        choice = None  # all tools were left out
    if choice is not None:
        extra["tool_choice"] = choice
    if body.text is not None:
        extra |= _text_options(body.text, place / "text")
    if body.reasoning is not None and body.reasoning.effort is not None:
        extra["reasoning_effort"] = body.reasoning.effort
    if body.top_logprobs or _LOGPROBS in (body.include or ()):
        extra |= {"logprobs": True, "top_logprobs": body.top_logprobs or 0}
    return extra


def _text_options(text: schema.TextOptions, place: Place) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if text.verbosity is not None:
        options["verbosity"] = text.verbosity
    form = text.format
    if form is not None and form.type == "json_object":
        options["response_format"] = {"type": "json_object"}
    elif form is not None and form.type == "json_schema":
        if not form.name or form.schema_ is None:
            raise (place / "format").invalid("must have a name and a schema")
        described = form.model_dump(by_alias=True, exclude={"type"}, exclude_none=True)
        exact = msgspec.Raw((place / "format").members(list(described)).encode())
        options["response_format"] = {"type": "json_schema", "json_schema": exact}
    return options


def _tool_choice(body: ResponsesBody, place: Place, hosted: HostedTools) -> object:
    """Return the choice in the form of chat completions; None for the default."""
    choice = body.tool_choice
    if isinstance(choice, schema.ToolChoice):
        if choice.type == "allowed_tools":
            return None if choice.mode == "auto" else choice.mode
        if choice.type in schema.HOSTED & {each.type for each in body.tools or ()}:
            name = SEARCH if choice.type == "file_search" else choice.name or WEB_SEARCH
            return function_choice(name) if hosted.bindings else None
        if choice.type not in ("function", "custom"):
            raise _unsupported_tool(str(place.at("tool_choice", "type")), choice.type)
        if not choice.name:
            raise place.at("tool_choice", "name").invalid("is required")
        return function_choice(choice.name)
    return None if choice == "auto" else choice


def _unsupported_tool(param: str, kind: str) -> RejectedRequestError:
    message = (
        f"Heddle offers no tool {kind!r}. Declare functions and custom tools of your own, "
        "file_search, web_search or mcp. The assistant's tools run without being declared."
    )
    return rejected(param, message, "unsupported_tool")


def _echo(body: ResponsesBody, members: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a response that repeat the request."""
    text, reasoning = body.text or schema.TextOptions(), body.reasoning
    form = text.format or schema.TextFormat(type="text")
    repeated = {name: members[name] for name in _ECHOED if members.get(name) is not None}
    return {
        **_FIXED,
        **_ECHOED,
        **repeated,
        "background": bool(body.background),
        "model": body.model,
        "reasoning": reasoning.model_dump() if reasoning else None,
        "truncation": truncation(body),
        "text": {"format": _format(form), "verbosity": text.verbosity or "medium"},
        "tools": [_tool(each) for each in body.tools or ()],
    }


def _format(form: schema.TextFormat) -> dict[str, Any]:
    if form.type != "json_schema":
        return {"type": form.type}
    return {**form.model_dump(by_alias=True), "strict": bool(form.strict)}


def _tool(tool: schema.Tool) -> dict[str, Any]:
    members = tool.model_dump()
    return {**members, "format": {"type": "text"}} if members["type"] == "custom" else members
