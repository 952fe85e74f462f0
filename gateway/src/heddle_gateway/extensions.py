"""Extensions: the parts that other packages add to the gateway.

A package names its `Extension` in an entry point of the group `heddle.gateway`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from heddle_runtime.serving import installed as packages
from heddle_runtime.settings.service import read
from pydantic import SecretStr
from pydantic_settings import BaseSettings
from starlette.types import Scope

from heddle_gateway.auth.authenticator import Issuer
from heddle_gateway.auth.issued_keys import AccountClient
from heddle_gateway.http.disconnect import RunningRequests
from heddle_gateway.http.operations import Operation
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.settings import GatewaySettings


class Forwarder(Protocol):
    """Sends requests to another system."""

    def includes(self, scope: Scope) -> bool:
        """Return whether the other system answers the request of an ASGI scope."""

    async def serve(self, request: RawRequest) -> None:
        """Answer a request with the response of the other system."""


class OtherSystem(Protocol):
    """A system that the gateway is in front of, and that has users of its own."""

    name: str
    """As of a service in `/health`, and as the identity provider of its users."""
    title: str
    """Its name for people."""

    async def accepts(self, email: str, password: str, client: str) -> bool:
        """Return whether a password is that of the user of an address.

        Raises:
            UnavailableError: The other system does not say so.
        """

    async def problem(self) -> str:
        """Return why the system cannot be reached, with the remedy; empty if it can."""

    def forwarder(
        self, running: RunningRequests, paths: Iterable[str], is_own_key: Callable[[str], bool]
    ) -> Forwarder:
        """Return the forwarder of requests to the system.

        Args:
            running: The requests of the gateway.
            paths: The paths of the routes that the gateway serves.
            is_own_key: Whether the value of `Authorization` is a key that the system must not get.
        """


@dataclass(frozen=True, slots=True)
class Additions:
    """The parts that an extension adds to one gateway."""

    issuers: Sequence[Issuer] = ()
    keys: Sequence[SecretStr] = ()
    """The operator's keys."""
    system: OtherSystem | None = None


@dataclass(frozen=True, eq=False)
class Extension:
    """The parts that a package adds to each gateway."""

    name: str
    """No identity provider can have it."""
    settings_class: type[BaseSettings]
    open: Callable[[Any, GatewaySettings, AccountClient], Additions]
    """Returns what it adds to a gateway. The first argument are the settings of its class."""
    operations: Sequence[Operation] = ()
    """Its routes, which take precedence over those of the gateway at the same path."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """The descriptions of the tags of the routes, for OpenAPI."""
    paths_with_detail: tuple[str, ...] = ()
    """Beginnings of paths whose errors repeat the message under `detail`."""
    settings: BaseSettings | None = None
    """None: those of the environment."""

    def read_settings(self) -> BaseSettings:
        """Return the settings of the extension; see `heddle_runtime.settings.service.read`."""
        return self.settings or read(self.settings_class)


@cache
def installed() -> tuple[Extension, ...]:
    """Return the extensions of the installed packages."""
    return tuple(each for _, each in packages.installed("heddle.gateway"))
