"""Anthropic, and servers with its Messages API."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

import msgspec
from pydantic import Field

from heddle_connector.connectors.anthropic.models import (
    Capabilities,
    ListedModel,
    ModelList,
    input_kinds,
)
from heddle_connector.connectors.anthropic.reader import MessageReader
from heddle_connector.connectors.anthropic.request import message_body, reasoning_effort
from heddle_connector.sdk import (
    BAD_JSON,
    BaseUrl,
    Call,
    Example,
    FromOrganization,
    HttpClient,
    HttpConnector,
    KeyedConnector,
    KeyedSettings,
    Model,
    ProviderRefusedError,
    Request,
    connector,
)

_ANTHROPIC = "https://api.anthropic.com"
_PAGE = 1000
_MAX_PAGES = 10
_MAX_CACHED_MODELS = 256


class AnthropicSettings(KeyedSettings, env_prefix="HEDDLE_CONNECTOR_ANTHROPIC_"):
    """Settings of the `anthropic` connector."""

    base_url: Annotated[BaseUrl, FromOrganization("base_url")] = Field(
        default=_ANTHROPIC, description="The URL of the provider; `/v1/messages` is appended."
    )
    max_tokens: int = Field(
        default=16_000,
        ge=1,
        description="Tokens of an answer, reasoning included, if the request sets no limit.",
    )
    api_version: str = Field(
        default="2026-10-21",
        description="The version of the API. From 2026-10-21 on it has no `temperature` and "
        "`top_p`, and the connector leaves both out.",
    )


def _event(kind: str, data: str = "") -> bytes:
    return f'event: {kind}\ndata: {{"type":"{kind}"{data}}}\n\n'.encode()


_EXAMPLE = Example(
    model="claude-sonnet-5-5",
    answer="Hello, world",
    settings={"base_url": "{provider}", "api_key": "sk-ant-api03-an-example"},
    reply=_event(
        "message_start",
        ',"message":{"id":"msg_01","type":"message","role":"assistant","content":[],'
        '"model":"claude-sonnet-5-5","stop_reason":null,"stop_sequence":null,'
        '"usage":{"input_tokens":9,"output_tokens":1}}',
    )
    + _event("content_block_start", ',"index":0,"content_block":{"type":"text","text":""}')
    + _event("ping")
    + _event("content_block_delta", ',"index":0,"delta":{"type":"text_delta","text":"Hello"}')
    + _event("content_block_delta", ',"index":0,"delta":{"type":"text_delta","text":", world"}')
    + _event("content_block_stop", ',"index":0')
    + _event(
        "message_delta",
        ',"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":6}',
    )
    + _event("message_stop"),
    whole_reply=b'{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-5-5",'
    b'"content":[{"type":"text","text":"Hello, world"}],"stop_reason":"end_turn",'
    b'"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":6}}',
)


@connector("anthropic", settings=AnthropicSettings, example=_EXAMPLE)
class Anthropic(KeyedConnector[AnthropicSettings], HttpConnector[AnthropicSettings]):
    """Anthropic's Claude models, and servers with the same Messages API."""

    provider_url = _ANTHROPIC

    def __init__(self, settings: AnthropicSettings, http: HttpClient) -> None:
        super().__init__(settings, http)
        self._headers = {"anthropic-version": settings.api_version}
        if self.secret:
            self._headers["x-api-key"] = self.secret
        self._capabilities: dict[str, Capabilities | None] = {}

    async def listed_models(self, seconds: float) -> Sequence[Model]:
        """Return the models that the provider lists."""
        models: list[ListedModel] = []
        after = ""
        for _ in range(_MAX_PAGES):
            url = f"{self.settings.base_url}/v1/models?limit={_PAGE}{after}"
            page = await self.fetch_models(Request(url, self._headers, seconds), ModelList)
            models += page.data
            if not (page.has_more and page.data):
                break
            after = f"&after_id={quote(page.data[-1].id, safe='')}"
        return [Model(each.id, each.display_name, input_kinds(each)) for each in models]

    async def request(self, call: Call) -> Request:
        """Return the request for a message."""
        self.require_key()
        # Only the mapping of reasoning efforts depends on the model.
        capabilities = await self._lookup(call) if reasoning_effort(call) else None
        body = message_body(call, self.settings.max_tokens, self.settings.api_version, capabilities)
        url = f"{self.settings.base_url}/v1/messages"
        return Request(url, self._headers, call.seconds, msgspec.json.encode(body))

    def reader(self, call: Call) -> MessageReader:
        """Return a reader for the message."""
        return MessageReader(calls=bool(call.functions))

    async def _lookup(self, call: Call) -> Capabilities | None:
        """Return the features of a model; None if the provider does not list them."""
        if call.model not in self._capabilities:
            url = f"{self.settings.base_url}/v1/models/{quote(call.model, safe='')}"
            try:
                body = await self.http.fetch(Request(url, self._headers, call.seconds))
                capabilities = msgspec.json.decode(body, type=ListedModel).capabilities
            except (ProviderRefusedError, *BAD_JSON):
                capabilities = None
            if len(self._capabilities) >= _MAX_CACHED_MODELS:
                self._capabilities.clear()
            self._capabilities[call.model] = capabilities
        return self._capabilities[call.model]
