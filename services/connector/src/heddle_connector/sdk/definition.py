"""The base class of connectors, and the decorator that registers them."""

import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from heddle_runtime.errors import ProviderGarbledError
from heddle_runtime.http.egress import server_address
from heddle_runtime.redaction import register_secrets
from heddle_runtime.settings.secret_files import SecretFileSettings
from pydantic import AfterValidator, BeforeValidator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from heddle_connector.generation.call import Call
from heddle_connector.generation.events import Event
from heddle_connector.generation.stalls import LimitedBatches
from heddle_connector.http import HttpClient, Request
from heddle_connector.http.tolerant_json import BAD_JSON

WEB_PAGE = "web_page"
"""The metadata of the error about a list of models that is a web page."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


BaseUrl = Annotated[str, AfterValidator(server_address)]
"""The type of a setting that holds a provider's address."""


def _split(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(name for each in value.split(",") if (name := each.strip()))


ModelNames = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""The type of a setting that holds model names, separated by commas."""


OrganizationValue = Literal["base_url", "api_key", "models"]
"""The members that an organisation stores for a provider: address, key and models."""


@dataclass(frozen=True, slots=True)
class FromOrganization:
    """Marks a setting that each organisation supplies for itself.

        token: Annotated[SecretStr | None, FromOrganization("api_key")] = Field(...)

    An organisation uses the connector with its own values of the marked settings, and never with
    the operator's. The other settings have their default values then. A connector without a marked
    setting is not available to organisations, except with `for_all_organizations`.
    """

    value: OrganizationValue


class Settings(SecretFileSettings):
    """A connector's settings in the environment: `class MySettings(Settings, env_prefix=...)`.

    Declare keys and passwords as `SecretStr`: their values are removed from errors and logs, and
    can be in files.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True)


class NoSettings(Settings):
    """The settings of a connector without settings."""


ListT = TypeVar("ListT")
SettingsT = TypeVar("SettingsT", bound=BaseSettings)


@dataclass(frozen=True, slots=True)
class Model:
    """A model that is ready to answer."""

    name: str
    """The provider's name of the model."""
    title: str = ""
    """A name for users, if it differs from `name`."""
    input_kinds: Sequence[Literal["image", "audio", "file"]] = ()
    """The known kinds of input besides text."""


class Connector(ABC, Generic[SettingsT]):
    """Connects to one provider. One object serves all calls, which run concurrently."""

    plugin: "ClassVar[Plugin]"
    """Set by the decorator `connector`."""

    def __init__(self, settings: SettingsT, http: HttpClient) -> None:
        self.settings = settings
        self.http = http
        """The HTTP client. All connectors share its connection pool."""

    @property
    def only_models(self) -> Sequence[str]:
        """The names of all models, if they are known without asking the provider; otherwise none.

        An assistant with another model is refused when it is stored.
        """
        return ()

    @property
    def is_set_up(self) -> bool:
        """Whether the settings suffice, as far as is known without asking the provider."""
        return True

    @abstractmethod
    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the models that are ready to answer, within `seconds`.

        The service caches the result for a minute. If there are no models, raise
        `UnavailableError` with a message that says how to fix that.
        """

    @abstractmethod
    def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Yield the events of an answer; each time, all events that are ready.

        The last event is `Done`, exactly once. Yield as soon as an event is ready. Yield an empty
        batch if the provider has sent something else, as a sign of life. When the caller
        disconnects, the service closes the generator, which leaves all `async with` blocks.

        Raises:
            HeddleError: One of the errors of this module. For any other exception the caller
                receives a general message, and the log the exception.
        """

    async def complete(self, call: Call) -> Sequence[Event]:
        """Return all events of an answer that is not streamed.

        By default these are the events of `generate`. Override this for providers with whole
        responses: a whole response costs much less than a stream.

        Raises:
            HeddleError: As `generate` does.
        """
        async with aclosing(LimitedBatches(self.generate(call), call.stall_seconds)) as batches:
            return [event async for events in batches for event in events]

    async def fetch_models(self, request: Request, kind: type[ListT]) -> ListT:
        """Return a provider's list of models, as the type `kind` of msgspec.

        Raises:
            HeddleError: The provider fails, or sends something else.
        """
        body = await self.http.fetch(request)
        try:
            return msgspec.json.decode(body, type=kind)
        except BAD_JSON:
            error = ProviderGarbledError("The provider's list of models is not one.")
            if body.lstrip().startswith(b"<"):
                error.metadata[WEB_PAGE] = "true"
            raise error from None

    async def close(self) -> None:
        """Release resources. Called once, when the service stops."""
        return


@dataclass(frozen=True, slots=True)
class Example:
    """A recorded response, which the conformance tests replay as a provider."""

    model: str
    answer: str
    """The text of the answer. Empty if it is not known in advance."""
    reply: bytes = b""
    """The response body. Empty if the connector has no provider."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings for the tests; `{provider}` in a value is the URL of the provider."""
    whole_reply: bytes = b""
    """The response body if the answer is not streamed. Empty if it is `reply`."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A connector as the registry knows it. The decorator `connector` creates it."""

    name: str
    description: str
    settings: type[BaseSettings]
    create: Callable[[Any, HttpClient], Connector[Any]]
    example: Example | None
    for_all_organizations: bool = False
    calls_functions: bool = True
    uses_model: bool = True
    streams: bool = True
    generates_images: bool = False

    @property
    def organization_settings(self) -> Mapping[str, OrganizationValue]:
        """The settings that an organisation supplies, by name."""
        return {
            name: mark.value
            for name, setting in self.settings.model_fields.items()
            for mark in setting.metadata
            if isinstance(mark, FromOrganization)
        }

    def open(self, settings: BaseSettings, http: HttpClient) -> Connector[Any]:
        """Return a connector. Its secrets are redacted from all messages as long as it exists."""
        register_secrets(settings)
        opened = self.create(settings, http)
        register_secrets(settings, holder=opened)
        return opened


ConnectorT = TypeVar("ConnectorT", bound=Connector[Any])


def connector(  # noqa: PLR0913 - each is a part of the description
    name: str,
    *,
    settings: type[BaseSettings] = NoSettings,
    example: Example | None = None,
    for_all_organizations: bool = False,
    calls_functions: bool = True,
    uses_model: bool = True,
    streams: bool = True,
    generates_images: bool = False,
) -> Callable[[type[ConnectorT]], type[ConnectorT]]:
    """Register a class as a connector; the first line of its docstring is the description.

    Args:
        name: The unique name, `[a-z][a-z0-9_]{0,62}`.
        settings: Read from the environment when the service starts. Give it the prefix
            `HEDDLE_CONNECTOR_<NAME>_`.
        example: The example that the conformance tests run.
        for_all_organizations: Whether every organisation uses the connector with the operator's
            settings. For connectors that need no provider's account. Connectors to a provider mark
            the settings that organisations supply with `FromOrganization` instead.
        calls_functions: Whether models of the connector can call functions. If not, the author of
            an assistant that binds tools as functions is warned.
        uses_model: Whether answers come from a model. If not, health does not count the connector
            as a provider.
        streams: Whether answers arrive in pieces.
        generates_images: Whether its models generate images.

    Raises:
        ValueError: The name is not valid, or the connector declares both for organisations.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a connector's name: [a-z][a-z0-9_]{{0,62}}")

    def decorate(kind: type[ConnectorT]) -> type[ConnectorT]:
        description, _, _ = (kind.__doc__ or "").strip().partition("\n")
        plugin = Plugin(
            *(name, description, settings, kind, example),
            *(for_all_organizations, calls_functions, uses_model),
            *(streams, generates_images),
        )
        if for_all_organizations and plugin.organization_settings:
            raise ValueError(
                f"The connector {name!r} marks settings with FromOrganization, so it cannot be "
                "used for_all_organizations with the operator's settings."
            )
        kind.plugin = plugin
        return kind

    return decorate


def plugins_in(module: ModuleType) -> Iterable[Plugin]:
    """Return the connectors that a module, or the package of this name, defines."""
    return [
        kind.plugin
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, Connector)
        and "plugin" in vars(kind)  # not one that it inherits
        and f"{kind.__module__}.".startswith(f"{module.__name__}.")  # not one of elsewhere
    ]
