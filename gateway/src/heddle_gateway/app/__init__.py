"""Assembles the gateway from its settings and the services behind it."""

from collections.abc import Sequence
from pathlib import Path

from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import OrganizationSettings
from heddle_runtime.settings.local_secret import LocalSecret

from heddle_gateway.app.gateway import Gateway
from heddle_gateway.auth.authenticator import Authenticator, Impersonation
from heddle_gateway.auth.browsers import Browsers, FlowCookies
from heddle_gateway.auth.issued_keys import CACHE_SECONDS, AccountClient, IssuedKeys
from heddle_gateway.auth.keys_file import Keyring, configured_keys
from heddle_gateway.auth.oidc.configuration import ProviderConfiguration, read_providers
from heddle_gateway.auth.oidc.provider import IdentityProvider
from heddle_gateway.auth.rate_limits import FairTurns, Limits, RateLimits
from heddle_gateway.auth.sealed_texts import SealedTexts
from heddle_gateway.auth.sessions import Sessions
from heddle_gateway.extensions import Extension, installed
from heddle_gateway.http.disconnect import RunningRequests
from heddle_gateway.pages.documentation import FOLDER as DOCUMENTATION
from heddle_gateway.pages.documentation import built_site
from heddle_gateway.services import ServiceClients, connect
from heddle_gateway.settings import GatewaySettings
from heddle_gateway.state import State
from heddle_gateway.studio_pages import FOLDER, built_files

_REASONING = b"heddle reasoning"
__all__ = ["Gateway", "GatewaySettings", "ServiceClients", "app", "connect"]


def app(
    settings: GatewaySettings,
    services: ServiceClients,
    studio_folder: Path = FOLDER,
    extensions: Sequence[Extension] | None = None,
    documentation_folder: Path = DOCUMENTATION,
) -> Gateway:
    """Return the gateway.

    Args:
        settings: Its settings.
        services: The services behind it.
        studio_folder: The built files of the studio.
        extensions: What other packages add; by default those that are installed.
        documentation_folder: The built files of the documentation.

    Raises:
        OSError: The services cannot be made to require tokens.
        ValueError: There is no key, or the file of API keys or identity providers is invalid.
    """
    extensions = installed() if extensions is None else extensions
    if isinstance(settings.identity_secret, LocalSecret) and not settings.development:
        settings.identity_secret.require_tokens()
    credentials = ServiceCredentials("heddle-gateway")
    accounts = AccountClient(services.accounts, credentials)
    additions = [each.open(each.read_settings(), settings, accounts) for each in extensions]
    browsers = Browsers(
        Sessions(accounts),
        settings.public_url,
        development=settings.development,
        origins=settings.cors_origins,
    )
    authenticator = Authenticator(
        Keyring(configured_keys(settings, [key for each in additions for key in each.keys])),
        [IssuedKeys(accounts), *(issuer for each in additions for issuer in each.issuers)],
        Impersonation(accounts),
        browsers,
        development=settings.development,
        limits=_limits(settings),
        turns=FairTurns(starts) if (starts := settings.organization_starting_requests) else None,
    )
    organizations = OrganizationSettings(
        services.accounts, credentials, cache_seconds=CACHE_SECONDS, without_servers=True
    )
    running = RunningRequests(settings.max_concurrent_calls)
    studio = built_files(studio_folder) if settings.studio else None
    reserved = {each.name for each in extensions}
    file = settings.oidc_providers
    providers = {
        each.id: IdentityProvider(each, settings.private_networks, settings.proxies)
        for each in (read_providers(file, ProviderConfiguration, reserved) if file else ())
    }
    flows = FlowCookies(settings.identity_secret)
    reasoning = SealedTexts(settings.identity_secret, _REASONING)
    return Gateway(
        State(
            *(settings, services, authenticator, credentials, organizations, running),
            *(built_site(documentation_folder), browsers, flows, reasoning, providers),
            studio=studio,
            extensions=extensions,
            other_system=next((each.system for each in additions if each.system), None),
        )
    )


def _limits(settings: GatewaySettings) -> RateLimits | None:
    """Return the limits of keys and organisations, None if there are none."""
    limits = RateLimits(
        Limits(settings.key_requests_per_minute, settings.key_concurrent_requests),
        Limits(
            settings.organization_requests_per_minute, settings.organization_concurrent_requests
        ),
    )
    return limits if limits.any else None
