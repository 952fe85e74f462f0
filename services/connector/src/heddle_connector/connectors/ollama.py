"""Models that an Ollama server runs, over its own chat API."""

import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import msgspec
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from heddle_connector.sdk import (
    BAD_JSON,
    BaseUrl,
    Batch,
    Call,
    Connector,
    Done,
    Event,
    Example,
    Extras,
    FinishReason,
    InvalidRequestError,
    LineDecoder,
    Model,
    ProviderGarbledError,
    Request,
    ToolCall,
    Usage,
    connector,
    error_in_body,
)

_HEADERS = {"content-type": "application/json"}
_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length"}
# Members of a client's request that Ollama takes as they are, and those that it wants as options.
_TAKEN = ("think", "keep_alive", "format")
_AS_OPTIONS = ("top_k", "min_p", "num_ctx", "repeat_penalty", "presence_penalty")


class OllamaSettings(BaseSettings):
    """Settings of the `ollama` connector."""

    model_config = SettingsConfigDict(
        env_prefix="HEDDLE_CONNECTOR_OLLAMA_", env_ignore_empty=True, frozen=True
    )

    base_url: BaseUrl = Field(
        default="http://127.0.0.1:11434", description="Where the Ollama server is."
    )


class _Function(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(msgspec.Struct):
    """A line of the stream, or the whole reply."""

    message: _Message | None = None
    model: str = ""
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int = 0
    eval_count: int = 0
    error: Any = None


class _Details(msgspec.Struct):
    name: str


class _Tags(msgspec.Struct):
    models: list[_Details]


_EXAMPLE = Example(
    model="llama3.2",
    answer="Hello, world",
    settings={"base_url": "{provider}"},
    reply=b'{"model":"llama3.2","message":{"role":"assistant","content":"Hello"},"done":false}\n'
    b'{"model":"llama3.2","message":{"role":"assistant","content":", world"},"done":false}\n'
    b'{"model":"llama3.2","message":{"role":"assistant","content":""},"done":true,'
    b'"done_reason":"stop","prompt_eval_count":9,"eval_count":3}\n',
)


@connector("ollama", settings=OllamaSettings, example=_EXAMPLE)
class Ollama(Connector[OllamaSettings]):
    """An Ollama server."""

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the models that the server holds."""
        request = Request(f"{self.settings.base_url}/api/tags", _HEADERS, seconds)
        try:
            tags = msgspec.json.decode(await self.http.fetch(request), type=_Tags)
        except BAD_JSON:
            raise ProviderGarbledError("The server's list of models is not one.") from None
        return [Model(details.name) for details in tags.models]

    async def whole(self, call: Call) -> Sequence[Event]:
        """Ask for a chat answer in one piece."""
        reader = _Reader(calls=bool(call.functions))
        events = reader.read([await self.http.fetch(self._request(call))])
        reader.check()
        return events

    async def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Ask for a streamed chat answer."""
        async with self.http.stream(self._request(call)) as response:
            decoder, reader = LineDecoder(), _Reader(calls=bool(call.functions))
            async for chunk in response:
                if events := reader.read(decoder.feed(chunk)):
                    yield events
                if reader.over:
                    break
            else:
                if events := reader.read([decoder.end()]):
                    yield events
            reader.check()
            await response.drain()

    def _request(self, call: Call) -> Request:
        body = msgspec.json.encode(_body(call))
        return Request(f"{self.settings.base_url}/api/chat", _HEADERS, call.seconds, body)


class _Reader:
    """Turns the lines of one answer into events.

    Args:
        calls: Whether functions were offered: then what the model thought is kept, for models want
            to read it again with their calls.
    """

    def __init__(self, *, calls: bool) -> None:
        self.over = False
        self._failure: Exception | None = None
        self._calls = False
        self._extras = Extras.of_message() if calls else None

    def read(self, lines: Sequence[bytes]) -> Sequence[Event]:
        """Return the events of some lines, up to the one that fails."""
        batch = Batch()
        try:
            for line in lines:
                if line and not self.over:
                    self._line(msgspec.json.decode(line, type=_Line), batch)
        except BAD_JSON:
            self._fail(ProviderGarbledError("The server sent a line that is not a chat answer."))
        return batch.events()

    def check(self) -> None:
        """Raise what went wrong, or that the answer is not complete."""
        if self._failure is not None:
            raise self._failure
        if not self.over:
            raise ProviderGarbledError("The server's answer ended before it was complete.")

    def _fail(self, error: Exception) -> None:
        self._failure = error
        self.over = True

    def _line(self, line: _Line, batch: Batch) -> None:
        if line.error:
            self._fail(error_in_body(line.error))
            return
        if message := line.message:
            if message.thinking:
                batch.reasoning(message.thinking)
                self._keep(message.thinking)
            if message.content:
                batch.text(message.content)
            for asked in message.tool_calls or ():
                self._calls = True
                batch.add(_tool_call(asked))
        if line.done:
            self.over = True
            reason = _REASONS.get(line.done_reason or "stop", "unknown")
            usage = Usage(line.prompt_eval_count, line.eval_count)
            extras = self._extras.json() if self._extras is not None and self._calls else ""
            reason = "tool_calls" if self._calls else reason
            batch.add(Done(reason, usage, line.model, message_extra_json=extras))

    def _keep(self, thought: str) -> None:
        if self._extras is not None:
            # By the name that the conversation of the next request has for it.
            self._extras.take({"reasoning_content": msgspec.Raw(msgspec.json.encode(thought))})


def _tool_call(asked: _Call) -> ToolCall:
    made = asked.id or f"call_{secrets.token_hex(12)}"
    return ToolCall(made, asked.function.name, bytes(asked.function.arguments).decode())


def _body(call: Call) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": call.model,
        "messages": _messages(call.messages),
        "stream": not call.whole,
    }
    extra = call.options.extra
    if "response_format" in extra:
        body["format"] = _format(extra["response_format"])
    body |= {name: extra[name] for name in _TAKEN if name in extra}
    if options := _options(call):
        body["options"] = options
    if call.functions:
        if any(isinstance(function, msgspec.Raw) for function in call.functions):
            raise InvalidRequestError("Ollama knows no tools but functions.")
        body["tools"] = call.functions
    return body


def _options(call: Call) -> dict[str, Any]:
    given = call.options
    options: dict[str, Any] = {
        "temperature": given.temperature,
        "top_p": given.top_p,
        "num_predict": given.max_tokens,
        "stop": given.stop or None,
        "seed": given.seed,
    }
    if given.max_tokens is None:  # the newer name, which the contract does not model
        options["num_predict"] = given.extra.get("max_completion_tokens")
    options |= {name: given.extra[name] for name in _AS_OPTIONS if name in given.extra}
    return {name: value for name, value in options.items() if value is not None}


def _format(given: msgspec.Raw) -> Any:  # noqa: ANN401 - a name or a schema
    """Return Ollama's form of OpenAI's `response_format`."""
    form = msgspec.json.decode(given)
    match form:
        case {"type": "json_object"}:
            return "json"
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return schema
        case None | {"type": "text"}:
            return None
        case _:
            raise InvalidRequestError("Ollama does not know this response_format.")


def _messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names: dict[str, str] = {}
    return [_message(message, names) for message in messages]


def _message(message: Mapping[str, Any], names: dict[str, str]) -> dict[str, Any]:
    role = message["role"]
    text, images = _content(message["content"])
    made: dict[str, Any] = {"role": "system" if role == "developer" else role, "content": text}
    if images:
        made["images"] = images
    if thought := message.get("reasoning_content"):  # models that think want it back with calls
        made["thinking"] = thought
    if calls := message.get("tool_calls"):
        names |= {call["id"]: call["function"]["name"] for call in calls}
        made["tool_calls"] = [
            {"function": {**call["function"], "arguments": _object(call["function"]["arguments"])}}
            for call in calls
        ]
    if name := names.get(message.get("tool_call_id", "")):  # Ollama names the tool, not the call
        made["tool_name"] = name
    return made


def _content(content: Any) -> tuple[str, list[str]]:  # noqa: ANN401 - text, parts, or nothing
    if not isinstance(content, list):
        return content or "", []
    texts, images = [], []
    for part in content:
        if isinstance(part, msgspec.Raw) or part["type"] not in ("text", "image_url"):
            raise InvalidRequestError("Ollama reads text and pictures only.")
        if part["type"] == "text":
            texts.append(part["text"])
        else:
            head, comma, data = part["image_url"]["url"].partition(";base64,")
            if not comma or not head.startswith("data:"):
                raise InvalidRequestError("Ollama reads pictures as data only, not as an address.")
            images.append(data)
    return "".join(texts), images


def _object(arguments: str) -> msgspec.Raw:
    """Return arguments in Ollama's form, an object. What is not one is left out."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except BAD_JSON:
        return msgspec.Raw(b"{}")
    return msgspec.Raw(arguments.encode())
