"""OpenAI, and all servers with its chat completions API."""

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Literal

import msgspec
from pydantic import Field, SecretStr

from heddle_connector.sdk import (
    BaseUrl,
    Call,
    CompletionReader,
    Connector,
    Event,
    Example,
    FromOrganization,
    HttpClient,
    Model,
    ModelNames,
    Request,
    Settings,
    SseDecoder,
    UnavailableError,
    completion_body,
    connector,
)

_OPENAI = "https://api.openai.com/v1"
_KINDS: dict[str, Literal["image", "audio", "file"]] = {
    "image": "image",
    "audio": "audio",
    "file": "file",
}


class OpenAiSettings(Settings, env_prefix="HEDDLE_CONNECTOR_OPENAI_"):
    """Settings of the `openai` connector."""

    base_url: Annotated[BaseUrl, FromOrganization("base_url")] = Field(
        default=_OPENAI, description="The URL of the provider; `/chat/completions` is appended."
    )
    api_key: Annotated[SecretStr | None, FromOrganization("api_key")] = Field(
        default=None, description="The API key. Local providers usually need none."
    )
    models: Annotated[ModelNames, FromOrganization("models")] = Field(
        default=(),
        description="The models, separated by commas. If empty, the provider lists them.",
    )


class _Modality(msgspec.Struct):
    input_modalities: list[str] = []


class _ListedModel(msgspec.Struct):
    id: str
    name: str | None = None
    architecture: _Modality | None = None


class _ModelList(msgspec.Struct):
    data: list[_ListedModel]


_EXAMPLE = Example(
    model="gpt-4o-mini",
    answer="Hello, world",
    settings={"base_url": "{provider}/v1"},
    reply=b'data: {"model":"gpt-4o-mini","choices":[{"index":0,"delta":{"role":"assistant",'
    b'"content":"Hello"},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"content":", world"},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}\n\n'
    b"data: [DONE]\n\n",
    whole_reply=b'{"model":"gpt-4o-mini","choices":[{"index":0,"message":{"role":"assistant",'
    b'"content":"Hello, world"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":9,"completion_tokens":3}}',
)


@connector("openai", settings=OpenAiSettings, example=_EXAMPLE)
class OpenAi(Connector[OpenAiSettings]):
    """OpenAI, and every provider or server with the same chat completions API.

    Request members that Heddle does not know reach the provider unchanged.
    """

    def __init__(self, settings: OpenAiSettings, http: HttpClient) -> None:
        super().__init__(settings, http)
        self._keyless = settings.base_url != _OPENAI
        self._completions = f"{settings.base_url}/chat/completions"
        self._secret = settings.api_key.get_secret_value().strip() if settings.api_key else ""
        self._headers = {"authorization": f"Bearer {self._secret}"} if self._secret else {}

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the models in the settings, or those that the provider lists."""
        if self.settings.models:
            return [Model(name) for name in self.settings.models]
        self._require_key()
        url = f"{self.settings.base_url}/models"
        listed = await self.fetch_models(Request(url, self._headers, seconds), _ModelList)
        return [_model(item) for item in listed.data]

    async def complete(self, call: Call) -> Sequence[Event]:
        """Request a whole chat completion."""
        body = await self.http.fetch(self._request(call))
        return CompletionReader(calls=bool(call.functions)).whole(body)

    async def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Request a streamed chat completion."""
        request = self._request(call)
        async with self.http.stream(request) as response:
            decoder = SseDecoder()
            reader = CompletionReader(calls=bool(call.functions))
            async for chunk in response:
                yield reader.read(decoder.feed(chunk))
                if reader.finished:
                    break
            else:  # some omit the end mark; the reader knows what is complete
                if events := reader.end(decoder.end()):
                    yield events
            reader.check()
            await response.drain()

    def _request(self, call: Call) -> Request:
        self._require_key()
        body = msgspec.json.encode(completion_body(call, stream=not call.whole))
        return Request(self._completions, self._headers, call.seconds, body)

    def _require_key(self) -> None:
        if not (self._secret or self._keyless):
            raise UnavailableError(
                "The provider of the model is not set up here. Ask the operator.",
                diagnosis="Set HEDDLE_CONNECTOR_OPENAI_API_KEY, or for a provider that needs no "
                "key HEDDLE_CONNECTOR_OPENAI_BASE_URL.",
            )


def _model(listed: _ListedModel) -> Model:
    kinds = listed.architecture.input_modalities if listed.architecture else []
    return Model(listed.id, listed.name or "", [_KINDS[kind] for kind in kinds if kind in _KINDS])
