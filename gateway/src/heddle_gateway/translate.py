"""An OpenAI request as an order to the orchestrator."""

from dataclasses import dataclass
from typing import Any

from heddle.chat.v1.chat_pb2 import Message
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest

from heddle_gateway import fields
from heddle_gateway.json_text import Place, parse
from heddle_gateway.messages import conversation, question
from heddle_gateway.options import functions, options

LONGEST_REFERENCE = 256
_PREFIX = "lamb_assistant."
# What Open WebUI's prompts for tasks begin with; it may keep `metadata.task` to itself.
_TASK = "### Task:\n"


@dataclass(frozen=True, slots=True)
class Order:
    """A request, understood."""

    request: RunCompletionRequest
    model: str
    """The name that the client knows the assistant by."""
    stream: bool
    usage: bool
    """Whether a streamed answer ends with what it consumed."""
    task: bool = False
    """Whether it is not a turn of a conversation, see `detours`."""
    debug: bool = False
    """Whether the client wants to see the prompt in place of an answer."""


def order(body: bytes, assistant: str = "") -> Order:
    """Translate the body of `POST /v1/chat/completions`.

    `assistant` names the assistant if something else than the body does.

    Raises:
        InvalidRequestError: The body is wrong; the first violation's field is OpenAI's `param`.
    """
    given, exact = parse(body)
    place = Place(exact)
    model = _model(given, place, assistant)
    stream = given.get("stream") is not None and fields.flag(given["stream"], place, "stream")
    messages, used = _messages(given, place)
    if task := _is_task(given, stream=stream):
        used |= {"metadata"}  # about Open WebUI's own affairs
    request = RunCompletionRequest(
        assistant_reference=assistant or model,
        messages=messages,
        options=options(given, place, used),
        functions=functions(given.get("tools"), place / "tools"),
    )
    usage = stream and _wants_usage(given)
    return Order(request, model, stream, usage, task, given.get("debug_bypass") is True)


def _model(given: dict[str, Any], place: Place, assistant: str) -> str:
    value = given.get("model")
    if value is None and assistant:
        return f"{_PREFIX}{assistant.removeprefix(_PREFIX)}"
    name = fields.text(value, place, "model", empty=False)
    if len(name) > LONGEST_REFERENCE:
        raise (place / "model").wrong(f"must have at most {LONGEST_REFERENCE} characters")
    return name


def _messages(given: dict[str, Any], place: Place) -> tuple[list[Message], frozenset[str]]:
    """Return the conversation, and the members of the body that it was made of.

    LAMB's older clients send one `prompt`, alone or among `params`.
    """
    if (value := given.get("messages")) is not None:
        return conversation(value, place / "messages"), frozenset()
    if (value := given.get("prompt")) is not None:
        return question(fields.text(value, place, "prompt")), frozenset()
    params = given.get("params")
    if isinstance(params, dict) and params.get("prompt") is not None:
        text = fields.text(params["prompt"], place, "params", "prompt")
        return question(text), frozenset({"params"})
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
