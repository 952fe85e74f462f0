"""Images by Google's Gemini, over its REST API. The connector's name is `banana_img`."""

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NoReturn
from urllib.parse import quote

import msgspec
from pydantic import Field

from heddle_connector.sdk import (
    BAD_JSON,
    BaseUrl,
    Batch,
    Call,
    Done,
    Event,
    Example,
    FinishReason,
    FromOrganization,
    HttpClient,
    InvalidRequestError,
    KeyedConnector,
    KeyedSettings,
    Model,
    ProviderGarbledError,
    ProviderRefusedError,
    Request,
    TolerantDecoder,
    Usage,
    Violation,
    connector,
    error_in_body,
    inline_data,
    option,
)

_REASONS: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
_WITHHELD = frozenset(
    {
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    }
)
_RATIOS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
_BAD_REQUEST = "400"
_SEPARATOR = "\n\n"


class GeminiImagesSettings(KeyedSettings, env_prefix="HEDDLE_CONNECTOR_BANANA_IMG_"):
    """Settings of the `banana_img` connector."""

    base_url: Annotated[BaseUrl, FromOrganization("base_url")] = Field(
        default="https://generativelanguage.googleapis.com/v1beta",
        description="The URL of Gemini; `/models` is appended.",
    )


class _Blob(msgspec.Struct, rename="camel"):
    data: bytes = b""


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    inline_data: _Blob | None = None
    thought: bool | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Counts(msgspec.Struct, rename="camel"):
    prompt_token_count: int = 0
    cached_content_token_count: int = 0
    candidates_token_count: int = 0
    thoughts_token_count: int = 0


class _Answer(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Counts | None = None
    model_version: str | None = None
    error: Any = None


_decode = TolerantDecoder(_Answer).decode


class _ListedModel(msgspec.Struct, rename="camel"):
    name: str
    display_name: str = ""
    supported_generation_methods: list[str] = []


class _ModelList(msgspec.Struct):
    models: list[_ListedModel] = []


_EXAMPLE = Example(
    model="gemini-2.5-flash-image",
    answer="Here it is.\n\n",
    settings={"base_url": "{provider}/v1beta", "api_key": "AIza-an-example"},
    reply=b'{"candidates":[{"content":{"role":"model","parts":[{"text":"Here it is."},'
    b'{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]},"finishReason":"STOP"}],'
    b'"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1290},'
    b'"modelVersion":"gemini-2.5-flash-image"}',
)


@connector(
    "banana_img",
    settings=GeminiImagesSettings,
    example=_EXAMPLE,
    calls_functions=False,
    streams=False,
    generates_images=True,
)
class GeminiImages(KeyedConnector[GeminiImagesSettings]):
    """Generates images with Google's Gemini."""

    def __init__(self, settings: GeminiImagesSettings, http: HttpClient) -> None:
        super().__init__(settings, http)
        self._headers = {"x-goog-api-key": self.secret}

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the models in the settings, or those that Gemini lists."""
        models = await super().models(seconds)
        return [replace(each, input_kinds=["image"]) for each in models]

    async def listed_models(self, seconds: float) -> Sequence[Model]:
        """Return the models that Gemini lists and that make images."""
        url = f"{self.settings.base_url}/models?pageSize=1000"
        listed = await self.fetch_models(Request(url, self._headers, seconds), _ModelList)
        return [
            Model(model.name.removeprefix("models/"), model.display_name)
            for model in listed.models
            if "image" in model.name and "generateContent" in model.supported_generation_methods
        ]

    async def complete(self, call: Call) -> Sequence[Event]:
        """Request an answer, and store its images."""
        self.require_key()
        # Quoted, so that no model name leads to another part of the API.
        model = quote(call.model.removeprefix("models/"), safe="")
        url = f"{self.settings.base_url}/models/{model}:generateContent"
        body = msgspec.json.encode(_body(call))
        try:
            response = await self.http.fetch(Request(url, self._headers, call.seconds, body))
        except ProviderRefusedError as error:
            is_bad_request = error.metadata.get("http_status") == _BAD_REQUEST
            if is_bad_request and "api key" in error.message.casefold():
                error.metadata["http_status"] = "401"  # as other providers do
            raise
        return await _events(call, self._read(response))

    async def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Request a whole answer: Gemini does not stream images."""
        yield await self.complete(call)

    def _read(self, body: bytes) -> _Answer:
        try:
            answer = _decode(body)
        except BAD_JSON:
            raise ProviderGarbledError("Gemini sent something that is not an answer.") from None
        if answer.error:
            raise error_in_body(answer.error)
        return answer


async def _events(call: Call, answer: _Answer) -> Sequence[Event]:
    candidate = answer.candidates[0] if answer.candidates else _Candidate()
    parts = (candidate.content and candidate.content.parts) or []
    images = [part for part in parts if part.inline_data and not part.thought]
    # Reasoning models may mark their only image as a thought.
    images = images or [part for part in parts if part.inline_data][-1:]
    if not images and not any(part.text for part in parts if not part.thought):
        _refuse(answer, candidate)
    batch, previous = Batch(), ""
    for part in parts:
        if part in images and part.inline_data is not None:
            if previous:
                batch.text(_SEPARATOR)
            batch.add(await call.store_image(part.inline_data.data))
            previous = "image"
        elif part.text and part.thought:
            batch.reasoning(part.text)
        elif part.text:
            batch.text(_SEPARATOR + part.text if previous == "image" else part.text)
            previous = "text"
    batch.add(_done(call, answer, candidate))
    return batch.events()


def _done(call: Call, answer: _Answer, candidate: _Candidate) -> Done:
    finish_reason = candidate.finish_reason or ""
    withheld = finish_reason in _WITHHELD
    reason = "content_filter" if withheld else _REASONS.get(finish_reason, "unknown")
    counts = answer.usage_metadata
    usage = None if counts is None else _usage(counts)
    return Done(reason, usage, answer.model_version or call.model)


def _usage(counts: _Counts) -> Usage:
    return Usage(
        counts.prompt_token_count,
        counts.candidates_token_count + counts.thoughts_token_count,
        counts.cached_content_token_count,
        counts.thoughts_token_count,
    )


def _refuse(answer: _Answer, candidate: _Candidate) -> NoReturn:
    """Raise the error for an answer without text and images."""
    blocked = answer.prompt_feedback.block_reason if answer.prompt_feedback else None
    if blocked or candidate.finish_reason in _WITHHELD:
        about = "the request" if blocked else "the picture"
        detail = f": {candidate.finish_message}" if candidate.finish_message else "."
        cause = blocked or candidate.finish_reason
        raise ProviderRefusedError(
            f"Gemini withholds the answer for {about} ({cause}){detail}",
            http_status=_BAD_REQUEST,
            provider_code="content_policy_violation",
        )
    reason = candidate.finish_reason or "no reason given"
    raise ProviderGarbledError(f"Gemini made no picture ({reason}).")


def _body(call: Call) -> dict[str, Any]:
    if call.functions:
        raise InvalidRequestError("Models that make pictures call no functions.")
    options = call.options
    config = {
        "temperature": options.temperature,
        "topP": options.top_p,
        "maxOutputTokens": options.max_tokens,
        "stopSequences": options.stop or None,
        "seed": options.seed,
        "imageConfig": _image_config(option(options.extra, "size")),
    }
    configured = {name: value for name, value in config.items() if value is not None}
    return {
        "contents": _contents(call.messages),
        "generationConfig": {"responseModalities": ["TEXT", "IMAGE"], **configured},
    }


def _contents(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the turns. Gemini's image models reject system instructions."""
    instructions: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        parts = _parts(message["content"])
        if message["role"] in ("system", "developer"):
            instructions += parts
        elif parts:
            role = "model" if message["role"] == "assistant" else "user"
            turns.append({"role": role, "parts": parts})
    if not turns:
        raise InvalidRequestError(
            "There is nothing to make a picture of.", [Violation("messages", "say nothing")]
        )
    if instructions:
        turns.insert(0, {"role": "user", "parts": instructions})
    return turns


def _parts(content: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - text, parts, or nothing
    if not isinstance(content, list):
        return [{"text": content}] if content else []
    return [_part(part) for part in content if part != {"type": "text", "text": ""}]


def _part(part: Any) -> dict[str, Any]:  # noqa: ANN401 - a part, or JSON text of a kind unknown to us
    if isinstance(part, msgspec.Raw) or part["type"] not in ("text", "image_url"):
        raise InvalidRequestError("Gemini gets text and pictures only.")
    if part["type"] == "text":
        return {"text": part["text"]}
    inline = inline_data(part["image_url"]["url"])
    if inline is None:
        raise InvalidRequestError("Gemini gets pictures as data only, not as an address.")
    return {"inlineData": {"mimeType": inline[0], "data": inline[1]}}


def _image_config(size: Any) -> dict[str, str] | None:  # noqa: ANN401 - any JSON value
    """Return the aspect ratio of Gemini that is nearest to OpenAI's `size`."""
    if size in ("auto", "", None):
        return None
    width, _, height = size.partition("x") if isinstance(size, str) else ("", "", "")
    if not (_is_length(width) and _is_length(height)):
        raise InvalidRequestError(
            "The size is none.", [Violation("size", "must be auto or, for example, 1024x1536")]
        )
    requested = math.log(int(width) / int(height))
    return {"aspectRatio": min(_RATIOS, key=lambda ratio: abs(_log_of(ratio) - requested))}


def _is_length(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) > 0  # noqa: PLR2004 - no picture is that large


def _log_of(ratio: str) -> float:
    width, _, height = ratio.partition(":")
    return math.log(int(width) / int(height))
