"""An OpenAI request as an order to the orchestrator."""

from typing import TYPE_CHECKING, Any

import msgspec
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
    RunWholeCompletionRequest,
)

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.openai.chat.messages import fill_conversation, fill_question
from heddle_gateway.openai.chat.options import fill_options, functions

if TYPE_CHECKING:
    from heddle_gateway.openai.chat.messages import Turns

LONGEST_REFERENCE = 256
_PREFIX = "lamb_assistant."
# What Open WebUI's prompts for tasks begin with; it may keep `metadata.task` to itself.
_TASK = "### Task:\n"
_NONE: frozenset[str] = frozenset()


class Order(msgspec.Struct, frozen=True):
    """A request, understood."""

    whole: RunWholeCompletionRequest
    """The request, for an answer that is not streamed."""
    model: str
    """The name that the client knows the assistant by."""
    stream: bool
    usage: bool
    """Whether a streamed answer ends with what it consumed."""
    task: bool = False
    """Whether it is not a turn of a conversation, see `detours`."""
    debug: bool = False
    """Whether the client wants to see the prompt in place of an answer."""

    @property
    def request(self) -> RunCompletionRequest:
        """The request, for an answer that is streamed."""
        return self.whole.run

    def instead(self, request: RunCompletionRequest) -> "Order":
        """Return the order with another request."""
        whole = RunWholeCompletionRequest(run=request)
        return msgspec.structs.replace(self, whole=whole)


def order(body: bytes, assistant: str = "") -> Order:
    """Translate the body of `POST /v1/chat/completions`.

    `assistant` names the assistant if something else than the body does.

    Raises:
        InvalidRequestError: The body is wrong; the first violation's field is OpenAI's `param`.
    """
    given, exact = parse(body)
    place = Place(exact)
    model = model_name(given, place, assistant)
    stream = given.get("stream") is not None and validation.flag(given["stream"], place, "stream")
    whole = RunWholeCompletionRequest()
    request = whole.run  # filled in where it is sent from: a conversation can be long
    request.assistant_reference = assistant or model
    used = _fill_messages(request.messages, given, place)
    if task := _is_task(given, stream=stream):
        used |= {"metadata"}  # about Open WebUI's own affairs
    fill_options(request.options, given, place, used)
    if (tools := given.get("tools")) is not None:
        request.functions.extend(functions(tools, place / "tools"))
    usage = stream and _wants_usage(given)
    return Order(whole, model, stream, usage, task, given.get("debug_bypass") is True)


def model_name(given: dict[str, Any], place: Place, assistant: str = "") -> str:
    """Return the name that the client knows an assistant by.

    `assistant` names it if something else than the body does.
    """
    value = given.get("model")
    if value is None and assistant:
        return f"{_PREFIX}{assistant.removeprefix(_PREFIX)}"
    name = validation.text(value, place, "model", empty=False)
    if len(name) > LONGEST_REFERENCE:
        raise (place / "model").wrong(f"must have at most {LONGEST_REFERENCE} characters")
    return name


def _fill_messages(messages: "Turns", given: dict[str, Any], place: Place) -> frozenset[str]:
    """Add the conversation, and return the unusual members of the body that it was made of.

    LAMB's older clients send one `prompt`, alone or among `params`.
    """
    if (value := given.get("messages")) is not None:
        fill_conversation(messages, value, place)
        return _NONE
    if (value := given.get("prompt")) is not None:
        fill_question(messages, validation.text(value, place, "prompt"))
        return _NONE
    params = given.get("params")
    if isinstance(params, dict) and params.get("prompt") is not None:
        text = validation.text(params["prompt"], place, "params", "prompt")
        fill_question(messages, text)
        return frozenset({"params"})
    raise (place / "messages").wrong("is required")


def _is_task(given: dict[str, Any], *, stream: bool) -> bool:
    """Say whether a request is one of Open WebUI's for itself, not a turn of a conversation."""
    about = given.get("metadata")
    if isinstance(about, dict) and isinstance(about.get("task"), str) and about["task"]:
        return True
    messages = given.get("messages")
    if stream or not isinstance(messages, list) or len(messages) != 1:
        return False
    said = messages[0].get("content") if isinstance(messages[0], dict) else None
    return isinstance(said, str) and said.startswith(_TASK)


def _wants_usage(given: dict[str, Any]) -> bool:
    asked = given.get("stream_options")
    return isinstance(asked, dict) and asked.get("include_usage") is True
