"""OpenAI, and all servers with its chat completions API."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from pydantic import Field

from heddle_connector.sdk import (
    BaseUrl,
    Call,
    CompletionReader,
    Example,
    FromOrganization,
    HttpClient,
    HttpConnector,
    KeyedConnector,
    KeyedSettings,
    Model,
    Request,
    completion_body,
    connector,
)

_OPENAI = "https://api.openai.com/v1"
_KINDS: dict[str, Literal["image", "audio", "file"]] = {
    "image": "image",
    "audio": "audio",
    "file": "file",
}


class OpenAiSettings(KeyedSettings, env_prefix="HEDDLE_CONNECTOR_OPENAI_"):
    """Settings of the `openai` connector."""

    base_url: Annotated[BaseUrl, FromOrganization("base_url")] = Field(
        default=_OPENAI, description="The URL of the provider; `/chat/completions` is appended."
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
class OpenAi(KeyedConnector[OpenAiSettings], HttpConnector[OpenAiSettings]):
    """OpenAI, and every provider or server with the same chat completions API.

    Request members that Heddle does not know reach the provider unchanged.
    """

    provider_url = _OPENAI

    def __init__(self, settings: OpenAiSettings, http: HttpClient) -> None:
        super().__init__(settings, http)
        self._completions = f"{settings.base_url}/chat/completions"
        self._headers = {"authorization": f"Bearer {self.secret}"} if self.secret else {}

    async def listed_models(self, seconds: float) -> Sequence[Model]:
        """Return the models that the provider lists."""
        request = Request(f"{self.settings.base_url}/models", self._headers, seconds)
        return [_model(item) for item in (await self.fetch_models(request, _ModelList)).data]

    async def request(self, call: Call) -> Request:
        """Return the request for a chat completion."""
        self.require_key()
        body = msgspec.json.encode(completion_body(call, stream=not call.whole))
        return Request(self._completions, self._headers, call.seconds, body)

    def reader(self, call: Call) -> CompletionReader:
        """Return a reader for the chat completion."""
        return CompletionReader(calls=bool(call.functions))


def _model(listed: _ListedModel) -> Model:
    kinds = listed.architecture.input_modalities if listed.architecture else []
    return Model(listed.id, listed.name or "", [_KINDS[kind] for kind in kinds if kind in _KINDS])
