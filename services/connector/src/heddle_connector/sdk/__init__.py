"""What the author of a connector imports. `connectors/bypass.py` is the smallest example.

A connector is one file: a class with two methods, made known by the decorator `connector`. Put
the file into the folder `HEDDLE_CONNECTOR_PLUGINS_DIR`, or name it in the entry-point group
`heddle.connectors` of a distribution.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar
from urllib.parse import urlsplit

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle_runtime.errors import (
    InvalidRequestError,
    NotFoundError,
    ProviderGarbledError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
    Violation,
)
from heddle_runtime.redaction import redact
from pydantic import AfterValidator, BeforeValidator
from pydantic_settings import BaseSettings, NoDecode

from heddle_connector.completion.passthrough_fields import Extras
from heddle_connector.completion.reader import CompletionReader, read_completion
from heddle_connector.completion.request import completion_body
from heddle_connector.generation.call import Call, Options
from heddle_connector.generation.events import (
    Batch,
    Done,
    Event,
    FinishReason,
    Logprobs,
    Picture,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from heddle_connector.http.client import Http, Request
from heddle_connector.http.lines import LineDecoder
from heddle_connector.http.provider_errors import BAD_JSON, stated_error
from heddle_connector.http.sse import SseDecoder
from heddle_connector.sdk.openmp import provide_openmp
from heddle_connector.sdk.threads import from_thread

__all__ = [
    "BAD_JSON",
    "Assistant",
    "BaseUrl",
    "Batch",
    "Call",
    "CompletionReader",
    "Connector",
    "Done",
    "Event",
    "Example",
    "Extras",
    "FinishReason",
    "Http",
    "InvalidRequestError",
    "LineDecoder",
    "Logprobs",
    "Model",
    "ModelNames",
    "NoSettings",
    "NotFoundError",
    "Options",
    "Picture",
    "Plugin",
    "ProviderGarbledError",
    "ProviderRefusedError",
    "ReasoningDelta",
    "Request",
    "ResourceExhaustedError",
    "SseDecoder",
    "TextDelta",
    "ToolCall",
    "UnavailableError",
    "Usage",
    "Violation",
    "completion_body",
    "connector",
    "from_thread",
    "provide_openmp",
    "read_completion",
    "redact",
    "stated_error",
]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not an http or https URL")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must not carry a user, a password, a query or a fragment")
    return url.rstrip("/")


BaseUrl = Annotated[str, AfterValidator(_checked_url)]
"""The type of a setting that holds a provider's address."""


def _split(given: object) -> object:
    if not isinstance(given, str):
        return given
    return tuple(name for each in given.split(",") if (name := each.strip()))


ModelNames = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""The type of a setting that holds names of models, written with commas between them."""


class NoSettings(BaseSettings):
    """The settings of a connector that has none."""


SettingsT = TypeVar("SettingsT", bound=BaseSettings)


@dataclass(frozen=True, slots=True)
class Model:
    """A model that is ready to answer."""

    name: str
    """The provider's name of it."""
    title: str = ""
    """The name shown to people, if there is a better one."""
    input_kinds: Sequence[Literal["image", "audio", "file"]] = ()
    """What the model reads besides text, as far as is known."""


class Connector(ABC, Generic[SettingsT]):
    """Speaks to one provider. There is one object for all calls, which run at the same time."""

    plugin: "ClassVar[Plugin]"
    """Set by the decorator `connector`."""

    def __init__(self, settings: SettingsT, http: Http) -> None:
        self.settings = settings
        self.http = http
        """The client for requests to the provider, with one pool for all connectors."""

    @abstractmethod
    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the models that are ready to answer, within `seconds`.

        The service remembers them for a minute. Raise `UnavailableError` with a message that says
        what to mend if there are none.
        """

    @abstractmethod
    def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Yield the events of an answer; each time, everything that is ready.

        Exactly one `Done`, the last event. Yield as soon as there is something, and never wait
        for more. When the caller goes away the generator is closed: leave `http.stream` and
        everything else by the end of its block.

        Raises:
            HeddleError: One of the errors of this module. Anything else is told to the caller as
                an unexpected failure, and its text to the log alone.
        """

    async def whole(self, call: Call) -> Sequence[Event]:
        """Return the events of an answer that nobody reads before it is complete.

        By default all that `generate` yields. For providers that give whole answers on request it
        is worth while to ask for one here: generators cost more than anything else that is done.

        Raises:
            HeddleError: As of `generate`.
        """
        async with aclosing(self.generate(call)) as batches:
            return [event async for events in batches for event in events]

    async def close(self) -> None:
        """Release what the object holds. Called once, when the service stops."""
        return


@dataclass(frozen=True, slots=True)
class Example:
    """A recorded answer, of which the conformance tests make a provider."""

    model: str
    answer: str
    """The text that the answer amounts to. Empty if it cannot be known before."""
    reply: bytes = b""
    """What the provider streams. Empty if the connector asks nobody."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings for the test; `{provider}` in a value is the address of the provider."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A connector as the registry knows it. Made by the decorator `connector`."""

    name: str
    description: str
    settings: type[BaseSettings]
    make: Callable[[Any, Http], Connector[Any]]
    example: Example | None


ConnectorT = TypeVar("ConnectorT", bound=Connector[Any])


def connector(
    name: str,
    *,
    settings: type[BaseSettings] = NoSettings,
    example: Example | None = None,
) -> Callable[[type[ConnectorT]], type[ConnectorT]]:
    """Make a class known as a connector; its docstring's first line is the description.

    Args:
        name: The unique name, `[a-z][a-z0-9_]{0,62}`.
        settings: Read from the environment when the service starts. Give it the prefix
            `HEDDLE_CONNECTOR_<NAME>_`.
        example: What the conformance tests run.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a connector's name: [a-z][a-z0-9_]{{0,62}}")

    def decorate(kind: type[ConnectorT]) -> type[ConnectorT]:
        description, _, _ = (kind.__doc__ or "").strip().partition("\n")
        kind.plugin = Plugin(name, description, settings, kind, example)
        return kind

    return decorate
