"""State that all requests of a gateway share."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import OrganizationSettings
from heddle_runtime.rpc.ttl_cache import TTLCache

from heddle_gateway.auth.authenticator import Authenticator
from heddle_gateway.auth.browsers import Browsers, FlowCookies
from heddle_gateway.auth.oidc.provider import IdentityProvider
from heddle_gateway.auth.sealed_texts import SealedTexts
from heddle_gateway.extensions import Extension, OtherSystem
from heddle_gateway.http.disconnect import BackgroundRuns, BackgroundTasks, RunningRequests
from heddle_gateway.http.static_files import StaticFiles
from heddle_gateway.http.websocket import WebSockets
from heddle_gateway.services import ServiceClients, ServiceHealth
from heddle_gateway.settings import GatewaySettings

HEALTH_SECONDS = 1.0
"""Seconds for which `/health` repeats its report: it needs no key and must not cause work."""
OFFERED_SECONDS = 2.0
"""Seconds for which lists of models know which connectors are set up."""


@dataclass(slots=True)
class State:
    """A running gateway."""

    settings: GatewaySettings
    services: ServiceClients
    authenticator: Authenticator
    credentials: ServiceCredentials
    """The gateway's own identity, for calls on its own behalf."""
    organizations: OrganizationSettings
    """The settings of organisations, without the credentials of their providers."""
    running: RunningRequests
    documentation: StaticFiles
    """The documentation site."""
    browsers: Browsers
    """The cookies of users."""
    flows: FlowCookies
    """The cookies of users who are at an identity provider."""
    reasoning: SealedTexts
    """What clients store of the reasoning of models for later requests."""
    providers: Mapping[str, IdentityProvider]
    """Identity providers by their ids."""
    extensions: Sequence[Extension] = ()
    other_system: OtherSystem | None = None
    """The system that the gateway is in front of."""
    studio: StaticFiles | None = None
    """The web application; None if it is not served."""
    health_reports: TTLCache[str, dict[str, ServiceHealth]] = field(
        default_factory=lambda: TTLCache(HEALTH_SECONDS)
    )
    """Of all services, under an empty key; of the replicas of a service, under its name."""
    offered_connectors: TTLCache[str, set[str]] = field(
        default_factory=lambda: TTLCache(OFFERED_SECONDS)
    )
    """By organisation, the connectors whose models answer people."""
    background: BackgroundRuns = field(default_factory=BackgroundRuns)
    titling: BackgroundTasks = field(default_factory=BackgroundTasks)
    """The writing of titles of conversations."""
    sockets: WebSockets = field(default_factory=WebSockets)
    work: asyncio.Event = field(default_factory=asyncio.Event)
    """Is set when there may be a batch to work on."""
    stopping: bool = False
    """Whether new requests should go to another gateway."""
