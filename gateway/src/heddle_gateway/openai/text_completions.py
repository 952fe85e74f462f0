"""`/v1/completions`: OpenAI's older form, in which a prompt is one text."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ToolCall
from heddle_runtime.contract.limits import MAX_CANDIDATES
from pydantic import BeforeValidator, ConfigDict, Field

from heddle_gateway.http.error_responses import rejected
from heddle_gateway.http.json_text import parse
from heddle_gateway.http.models import Model, Name, validate
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.chat.aggregation import Completion, StreamEncoder
from heddle_gateway.openai.chat.completion_schema import CompletionUsage
from heddle_gateway.openai.chat.completions import OPTIONS, respond
from heddle_gateway.openai.chat.event_encoder import Answer, escaped
from heddle_gateway.openai.chat.request import About, ChatRequest
from heddle_gateway.openai.chat.request import parse_request as parse_chat
from heddle_gateway.openai.chat.schema import AssistantName
from heddle_gateway.routing import Routes
from heddle_gateway.state import State

_OBJECT = "text_completion"
_UNSUPPORTED = ("suffix", "logprobs")
# What a chat completion has under the same name; it checks them.
_SHARED = (
    *("model", "stream", "stream_options", "n", "max_tokens", "temperature", "top_p", "stop"),
    *("seed", "user", "presence_penalty", "frequency_penalty", "logit_bias"),
)
routes = Routes("completions")


def _prompt(value: object) -> object:
    """Return the prompt in a list of one."""
    if not isinstance(value, list):
        return value
    if value and all(isinstance(each, int | list) for each in value):
        raise ValueError("must be text: token ids belong to models of others")
    if len(value) != 1:
        raise ValueError("must be one text: send a request for each prompt")
    return value[0]


class TextCompletionBody(Model):
    """A prompt for an assistant. Further members are those of a chat completion."""

    model: AssistantName
    prompt: Annotated[
        Name,
        BeforeValidator(
            _prompt,
            json_schema_input_type=Name | Annotated[list[Name], Field(min_length=1, max_length=1)],
        ),
    ]
    stream: bool | None = None
    max_tokens: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    n: Annotated[int, Field(ge=1, le=MAX_CANDIDATES)] | None = None
    best_of: Annotated[int, Field(ge=0, le=20)] | None = Field(
        default=None, description="At most `n`: all completions are returned."
    )
    echo: bool | None = Field(default=None, description="Repeat the prompt before the completion.")
    suffix: Literal[""] | None = Field(
        default=None, description="Not supported: the completion has nothing after it."
    )
    logprobs: None = Field(default=None, description="Not supported; chat completions have them.")

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "lamb_assistant.1", "prompt": "A heddle is"}]}
    )


class TextChoice(Model):
    """One completion."""

    index: int
    text: str
    logprobs: None
    finish_reason: Literal["stop", "length", "content_filter"]


class TextCompletion(Model):
    """The completions, or with `stream` a stream of their pieces in the same form."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[TextChoice]
    usage: CompletionUsage


class TextRequest(ChatRequest, frozen=True, kw_only=True):
    """A parsed request."""

    ID_PREFIX: ClassVar[str] = "cmpl"
    echo: str = ""
    """The text before each completion."""

    def _choice(self, answer: Answer, about: About) -> Completion:
        choice = _Whole(answer, *about, trace=self.run.include_trace)
        choice.echo(self.echo)
        return choice

    def _streamed_choice(self, answer: Answer, about: About) -> StreamEncoder:
        choice = _Stream(*about, answer, usage=self.usage, trace=self.run.include_trace)
        choice.echo(self.echo)
        return choice


@routes.post(
    "/v1/completions", **{**OPTIONS, "body_model": TextCompletionBody, "returns": TextCompletion}
)
async def complete(state: State, request: RawRequest) -> None:
    """Answer a prompt as an assistant, in OpenAI's older form.

    The run is that of a chat completion with one message of the user, with the same headers and
    limits: the assistant answers the prompt, and does not continue it. The answer is its text, with
    pictures as Markdown. With `stream` the response is a stream of server-sent events that ends
    with `[DONE]`.
    """
    await respond(state, request, "", read=_read)


async def _read(_: State, body: bytes) -> ChatRequest:
    return parse_request(body)


def parse_request(body: bytes) -> TextRequest:
    """Translate the body of `POST /v1/completions`.

    Raises:
        InvalidRequestError: The body is invalid.
        RejectedRequestError: It asks for what assistants cannot do.
    """
    members, place = parse(body)
    for name in _UNSUPPORTED:
        if members.get(name) not in (None, ""):
            message = f"Heddle does not support {name} here. Leave it out."
            raise rejected(name, message, "unsupported_parameter")
    text = validate(TextCompletionBody, members)
    if (text.best_of or 0) > (text.n or 1):
        message = "best_of must be at most n: Heddle returns all completions."
        raise rejected("best_of", message, "unsupported_parameter")
    shared: dict[str, Any] = {name: members[name] for name in _SHARED if name in members}
    chat = parse_chat(body, parsed=({**shared, "prompt": text.prompt}, place))
    return TextRequest(**msgspec.structs.asdict(chat), echo=text.prompt if text.echo else "")


class _Whole(Completion):
    """Collects the events of a run into one completion."""

    OBJECT = _OBJECT

    def echo(self, prompt: str) -> None:
        """Repeat the prompt before the completion."""
        self._written.append(prompt)

    def _content(self, done: Done) -> dict[str, Any]:
        return {"text": self.text}


class _Stream(StreamEncoder):
    """Turns events into pieces of one completion."""

    OBJECT = _OBJECT.encode()
    CONTENT = b"text"

    def echo(self, prompt: str) -> None:
        """Repeat the prompt before the completion."""
        self._opening = self._text(prompt, "") if prompt else b""

    def _text(self, text: str, logprobs_json: str) -> bytes:
        return self._head + escaped(text) + self._tail

    def _note(self, members: bytes) -> bytes:
        return b""

    def _reasoning(self, text: str, more: bytes = b"") -> bytes:
        return b""

    def _call(self, call: ToolCall) -> bytes:
        return b""

    def _image(self, image: GeneratedImage) -> bytes:
        return self._text(run_events.image_link(image, self._answer.link), "")

    def _last(self, delta: dict[str, Any]) -> bytes:
        return b'""'
