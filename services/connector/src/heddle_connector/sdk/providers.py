"""The base classes of connectors to a provider over HTTP."""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, ClassVar, TypeVar

from heddle_runtime.errors import UnavailableError
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from heddle_connector.generation.answer_reader import AnswerReader
from heddle_connector.generation.call import Call
from heddle_connector.generation.events import Event
from heddle_connector.http import HttpClient, Request
from heddle_connector.http.lines import LineDecoder
from heddle_connector.http.sse import SseDecoder
from heddle_connector.sdk.definition import (
    BaseUrl,
    Connector,
    FromOrganization,
    Model,
    ModelNames,
    Settings,
)

SettingsT = TypeVar("SettingsT", bound=BaseSettings)


class KeyedSettings(Settings):
    """The settings of a provider with an API key. Override `base_url` with a default value."""

    base_url: Annotated[BaseUrl, FromOrganization("base_url")]
    api_key: Annotated[SecretStr | None, FromOrganization("api_key")] = Field(
        default=None, description="The API key. Servers of your own usually need none."
    )
    models: Annotated[ModelNames, FromOrganization("models")] = Field(
        default=(),
        description="The models, separated by commas. If empty, the provider lists them.",
    )


KeyedT = TypeVar("KeyedT", bound=KeyedSettings)


class HttpConnector(Connector[SettingsT]):
    """A connector whose provider answers one request, with a stream or a whole body."""

    decoder: type[SseDecoder | LineDecoder] = SseDecoder
    """Decodes streams into the payloads that the reader reads."""

    @abstractmethod
    async def request(self, call: Call) -> Request:
        """Return the request for an answer: whole if `call.whole`, else streamed."""

    @abstractmethod
    def reader(self, call: Call) -> AnswerReader:
        """Return a reader for the answer to `call`."""

    async def complete(self, call: Call) -> Sequence[Event]:
        """Request a whole answer."""
        return self.reader(call).whole(await self.http.fetch(await self.request(call)))

    async def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Request a streamed answer."""
        async with self.http.stream(await self.request(call)) as response:
            decoder, reader = self.decoder(), self.reader(call)
            async for chunk in response:
                yield reader.read(decoder.feed(chunk))
                if reader.finished:
                    break
            else:  # some omit the end mark; the reader knows what is complete
                if events := reader.end(decoder.end()):
                    yield events
            reader.check()
            await response.drain()


class KeyedConnector(Connector[KeyedT]):
    """A connector to a provider with an API key."""

    provider_url: ClassVar[str] = ""
    """The only address that needs a key. Empty: every address needs one."""

    def __init__(self, settings: KeyedT, http: HttpClient) -> None:
        super().__init__(settings, http)
        self.secret = settings.api_key.get_secret_value().strip() if settings.api_key else ""

    @property
    def is_set_up(self) -> bool:
        """Whether there is a key, or an address that needs none."""
        return bool(self.secret) or self.provider_url not in ("", self.settings.base_url)

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the models in the settings, or those that the provider lists."""
        if self.settings.models:
            return [Model(name) for name in self.settings.models]
        self.require_key()
        return await self.listed_models(seconds)

    @abstractmethod
    async def listed_models(self, seconds: float) -> Sequence[Model]:
        """Return the models that the provider lists, within `seconds`."""

    def require_key(self) -> None:
        """Raise `UnavailableError` if the key is missing."""
        if self.is_set_up:
            return
        prefix = self.settings.model_config.get("env_prefix", "")
        server = f"for a server without keys {prefix}BASE_URL, or " if self.provider_url else ""
        raise UnavailableError(
            "The provider of the model is not set up here. Ask the operator.",
            diagnosis=f"Set {prefix}API_KEY, or {server}"
            f"in the organisation's settings providers.{self.plugin.name}.api_key.",
        )
