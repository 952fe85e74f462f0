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


@dataclass(frozen=True, slots=True)
class Order:
    """A request, understood."""

    request: RunCompletionRequest
    model: str
    """The name that the client knows the assistant by."""
    stream: bool
    usage: bool
    """Whether a streamed answer ends with what it consumed."""


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
    request = RunCompletionRequest(
        assistant_reference=assistant or model,
        messages=messages,
        options=options(given, place, used),
        functions=functions(given.get("tools"), place / "tools"),
    )
    return Order(request, model, stream, stream and _wants_usage(given))


def _model(given: dict[str, Any], place: Place, assistant: str) -> str:
    value = given.get("model")
    if value is None and assistant:
        return f"lamb_assistant.{assistant}"
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


def _wants_usage(given: dict[str, Any]) -> bool:
    asked = given.get("stream_options")
    return isinstance(asked, dict) and asked.get("include_usage") is True
