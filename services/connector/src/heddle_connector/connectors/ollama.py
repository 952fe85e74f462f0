"""Models on an Ollama server, over its native chat API."""

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from pydantic import Field

from heddle_connector.sdk import (
    AnswerReader,
    BaseUrl,
    Batch,
    Call,
    Done,
    Example,
    FinishReason,
    FromOrganization,
    HttpConnector,
    InvalidRequestError,
    LineDecoder,
    Model,
    PassthroughFields,
    ProviderGarbledError,
    Request,
    Settings,
    TolerantDecoder,
    ToolCall,
    Usage,
    argument_text,
    arguments_object,
    connector,
    error_in_body,
    inline_data,
)

_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length"}
# Request members that Ollama accepts unchanged, and those that it expects as options.
_TOP_LEVEL = ("think", "keep_alive", "format")
_OPTIONS = ("top_k", "min_p", "num_ctx", "repeat_penalty", "presence_penalty")


class OllamaSettings(Settings, env_prefix="HEDDLE_CONNECTOR_OLLAMA_"):
    """Settings of the `ollama` connector."""

    base_url: Annotated[BaseUrl, FromOrganization("base_url")] = Field(
        default="http://127.0.0.1:11434", description="The URL of the Ollama server."
    )


class _Function(msgspec.Struct):
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Call(msgspec.Struct):
    function: _Function = msgspec.field(default_factory=_Function)
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(msgspec.Struct):
    """A line of the stream, or the whole response."""

    message: _Message | None = None
    model: str = ""
    done: bool | None = None
    done_reason: str | None = None
    prompt_eval_count: int = 0
    eval_count: int = 0
    error: Any = None


class _Details(msgspec.Struct):
    name: str


class _Tags(msgspec.Struct):
    models: list[_Details]


_decode = TolerantDecoder(_Line).decode


_EXAMPLE = Example(
    model="llama3.2",
    answer="Hello, world",
    settings={"base_url": "{provider}"},
    reply=b'{"model":"llama3.2","message":{"role":"assistant","content":"Hello"},"done":false}\n'
    b'{"model":"llama3.2","message":{"role":"assistant","content":", world"},"done":false}\n'
    b'{"model":"llama3.2","message":{"role":"assistant","content":""},"done":true,'
    b'"done_reason":"stop","prompt_eval_count":9,"eval_count":3}\n',
    whole_reply=b'{"model":"llama3.2","message":{"role":"assistant","content":"Hello, world"},'
    b'"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":3}',
)


@connector("ollama", settings=OllamaSettings, example=_EXAMPLE)
class Ollama(HttpConnector[OllamaSettings]):
    """An Ollama server."""

    decoder = LineDecoder

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the models on the server."""
        request = Request(f"{self.settings.base_url}/api/tags", {}, seconds)
        tags = await self.fetch_models(request, _Tags)
        return [Model(details.name) for details in tags.models]

    async def request(self, call: Call) -> Request:
        """Return the request for a chat answer."""
        body = msgspec.json.encode(_body(call))
        return Request(f"{self.settings.base_url}/api/chat", {}, call.seconds, body)

    def reader(self, call: Call) -> "_Reader":
        """Return a reader for the chat answer."""
        return _Reader(calls=bool(call.functions), whole=call.whole)


class _Reader(AnswerReader):
    """Turns the lines of one answer into events.

    Args:
        calls: Whether the request declared tools. Then the reader collects the reasoning, which
            models expect together with their calls in the next request.
        whole: Whether the lines are a whole body, which needs no mark of its end.
    """

    def __init__(self, *, calls: bool, whole: bool = False) -> None:
        super().__init__()
        self._line = _Line(done=whole)
        self._has_calls = False
        self._passthrough = PassthroughFields.of_message() if calls else None

    def _payload(self, payload: bytes | str, batch: Batch) -> None:
        if not payload.strip():
            return
        line = _decode(payload)
        if message := line.message:
            self._add_reasoning(message.thinking, batch)
            self._collect(message.thinking or "")
            self._add_text(message.content, batch)
            for call in message.tool_calls or ():
                self._has_calls |= bool(call.function.name)
                self._add_call(_tool_call(call), batch)
        if line.error:
            raise error_in_body(line.error)
        if line.done is not None:
            self._line = line
        if line.done:
            self._finish(batch)

    def _finish(self, batch: Batch) -> None:
        self._require_content()
        line = self._line
        if not line.done:
            raise ProviderGarbledError("The server's answer ended before it was complete.")
        reason = _REASONS.get(line.done_reason or "stop", "unknown")
        usage = Usage(line.prompt_eval_count, line.eval_count)
        fields = self._passthrough.json() if self._passthrough and self._has_calls else ""
        reason = "tool_calls" if self._has_calls else reason
        self._add_done(Done(reason, usage, line.model, message_extra_json=fields), batch)

    def _collect(self, reasoning: str) -> None:
        if reasoning and self._passthrough is not None:
            # The conversation of the next request contains it under this name.
            value = msgspec.Raw(json.dumps(reasoning).encode())
            self._passthrough.take({"reasoning_content": value})


def _tool_call(call: _Call) -> ToolCall:
    call_id = call.id or f"call_{secrets.token_hex(12)}"
    arguments = argument_text(bytes(call.function.arguments))
    return ToolCall(call_id, call.function.name, arguments)


def _body(call: Call) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": call.model,
        "messages": _messages(call.messages),
        "stream": not call.whole,
    }
    extra = call.options.extra
    if "response_format" in extra:
        body["format"] = _format(extra["response_format"])
    body |= {name: extra[name] for name in _TOP_LEVEL if name in extra}
    if options := _options(call):
        body["options"] = options
    if call.functions:
        if any(isinstance(function, msgspec.Raw) for function in call.functions):
            raise InvalidRequestError("Ollama knows no tools but functions.")
        body["tools"] = call.functions
    return body


def _options(call: Call) -> dict[str, Any]:
    source = call.options
    options: dict[str, Any] = {
        "temperature": source.temperature,
        "top_p": source.top_p,
        "num_predict": source.max_tokens,
        "stop": source.stop or None,
        "seed": source.seed,
    }
    if source.max_tokens is None:  # the newer name, which the contract does not model
        options["num_predict"] = source.extra.get("max_completion_tokens")
    options |= {name: source.extra[name] for name in _OPTIONS if name in source.extra}
    return {name: value for name, value in options.items() if value is not None}


def _format(response_format: msgspec.Raw) -> Any:  # noqa: ANN401 - a name or a schema
    match msgspec.json.decode(response_format):
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
    result: dict[str, Any] = {"role": "system" if role == "developer" else role, "content": text}
    if images:
        result["images"] = images
    if reasoning := message.get("reasoning_content"):
        result["thinking"] = reasoning
    if calls := message.get("tool_calls"):
        names |= {call["id"]: call["function"]["name"] for call in calls}
        functions = [call["function"] for call in calls]
        result["tool_calls"] = [
            {"function": {**each, "arguments": arguments_object(each["arguments"])}}
            for each in functions
        ]
    if name := names.get(message.get("tool_call_id", "")):  # Ollama names the tool, not the call
        result["tool_name"] = name
    return result


def _content(content: Any) -> tuple[str, list[str]]:  # noqa: ANN401 - text, parts, or nothing
    if not isinstance(content, list):
        return content or "", []
    texts, images = [], []
    for part in content:
        if isinstance(part, msgspec.Raw) or part["type"] not in ("text", "image_url"):
            raise InvalidRequestError("Ollama reads text and pictures only.")
        if part["type"] == "text":
            texts.append(part["text"])
        elif data := inline_data(part["image_url"]["url"]):
            images.append(data[1])
        else:
            raise InvalidRequestError("Ollama reads pictures as data only, not as an address.")
    return "".join(texts), images
