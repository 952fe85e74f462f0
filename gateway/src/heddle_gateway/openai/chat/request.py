"""Translates the body of a chat completion into a request to the orchestrator."""

from typing import TYPE_CHECKING, Any

import msgspec
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
    RunWholeCompletionRequest,
)

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.openai.chat.messages import add_conversation, add_question
from heddle_gateway.openai.chat.options import fill_options, functions

if TYPE_CHECKING:
    from heddle_gateway.openai.chat.messages import Messages

MAX_REFERENCE_CHARACTERS = 256
_PREFIX = "lamb_assistant."
# Open WebUI's prompts for its tasks begin with this; it may remove `metadata.task`.
_TASK = "### Task:\n"
_NONE: frozenset[str] = frozenset()


class ChatRequest(msgspec.Struct, frozen=True):
    """A parsed request."""

    whole: RunWholeCompletionRequest
    """The request, for a response that is not streamed."""
    model: str
    """The name by which the client knows the assistant."""
    stream: bool
    usage: bool
    """Whether a streamed response ends with its usage."""
    task: bool = False
    """Whether it is a task of Open WebUI, not a turn of a conversation."""
    debug: bool = False
    """Whether the client wants the prompt instead of a completion."""

    @property
    def run(self) -> RunCompletionRequest:
        """The request, for a response that is streamed."""
        return self.whole.run

    def replace(self, run: RunCompletionRequest) -> "ChatRequest":
        """Return this request with another run."""
        return msgspec.structs.replace(self, whole=RunWholeCompletionRequest(run=run))


def parse_request(body: bytes, assistant: str = "") -> ChatRequest:
    """Translate the body of `POST /v1/chat/completions`.

    `assistant` names the assistant if the path or the query does.

    Raises:
        InvalidRequestError: The body is invalid; the first violation's field is OpenAI's `param`.
    """
    members, exact = parse(body)
    place = Place(exact)
    model = model_name(members, place, assistant)
    stream = members.get("stream") is not None and validation.flag(
        members["stream"], place, "stream"
    )
    whole = RunWholeCompletionRequest()
    run = whole.run  # filled in place: a conversation can be long
    run.assistant_reference = assistant or model
    used = _add_messages(run.messages, members, place)
    if task := _is_task(members, stream=stream):
        used |= {"metadata"}  # of Open WebUI's task
    fill_options(run.options, members, place, used)
    if (tools := members.get("tools")) is not None:
        run.functions.extend(functions(tools, place / "tools"))
    usage = stream and _includes_usage(members)
    return ChatRequest(whole, model, stream, usage, task, members.get("debug_bypass") is True)


def model_name(members: dict[str, Any], place: Place, assistant: str = "") -> str:
    """Return the name by which the client knows an assistant.

    `assistant` names it if the path or the query does.
    """
    value = members.get("model")
    if value is None and assistant:
        return f"{_PREFIX}{assistant.removeprefix(_PREFIX)}"
    name = validation.text(value, place, "model", empty=False)
    if len(name) > MAX_REFERENCE_CHARACTERS:
        raise (place / "model").invalid(f"must have at most {MAX_REFERENCE_CHARACTERS} characters")
    return name


def _add_messages(messages: "Messages", members: dict[str, Any], place: Place) -> frozenset[str]:
    """Add the conversation, and return the unusual members of the body that contained it.

    LAMB's older clients send one `prompt`, alone or in `params`.
    """
    if (value := members.get("messages")) is not None:
        add_conversation(messages, value, place)
        return _NONE
    if (value := members.get("prompt")) is not None:
        add_question(messages, validation.text(value, place, "prompt"))
        return _NONE
    params = members.get("params")
    if isinstance(params, dict) and params.get("prompt") is not None:
        text = validation.text(params["prompt"], place, "params", "prompt")
        add_question(messages, text)
        return frozenset({"params"})
    raise (place / "messages").invalid("is required")


def _is_task(members: dict[str, Any], *, stream: bool) -> bool:
    """Return whether a request is a task of Open WebUI, not a turn of a conversation."""
    metadata = members.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("task"), str) and metadata["task"]:
        return True
    messages = members.get("messages")
    if stream or not isinstance(messages, list) or len(messages) != 1:
        return False
    content = messages[0].get("content") if isinstance(messages[0], dict) else None
    return isinstance(content, str) and content.startswith(_TASK)


def _includes_usage(members: dict[str, Any]) -> bool:
    options = members.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True
