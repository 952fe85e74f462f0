"""Assembles the gateway from its settings and the services behind it."""

from pathlib import Path

import msgspec
from heddle_runtime.identity import OPERATOR
from heddle_runtime.local_secret import LocalSecret
from heddle_runtime.organization_settings import OrganizationSettings
from heddle_runtime.service_credentials import ServiceCredentials

from heddle_gateway.app.gateway import Gateway
from heddle_gateway.auth.authenticator import FRONT_END, Authenticator
from heddle_gateway.auth.browsers import Browsers
from heddle_gateway.auth.fair_turns import FairTurns
from heddle_gateway.auth.impersonation import Impersonation
from heddle_gateway.auth.issued_keys import CACHE_SECONDS, AccountClient, IssuedKeys
from heddle_gateway.auth.keys_file import Keyring, Principal, read_keys
from heddle_gateway.auth.oidc.configuration import read_providers
from heddle_gateway.auth.oidc.flow_cookie import FlowCookies
from heddle_gateway.auth.oidc.provider import IdentityProvider
from heddle_gateway.auth.rate_limits import Limits, RateLimits
from heddle_gateway.auth.sessions import Sessions
from heddle_gateway.http.disconnect import RunningRequests
from heddle_gateway.lamb.lamb_server import LambServer
from heddle_gateway.lamb.user_tokens import LambTokens
from heddle_gateway.services import ServiceClients, connect
from heddle_gateway.settings import GatewaySettings
from heddle_gateway.state import State
from heddle_gateway.studio_pages import FOLDER, built_files

__all__ = ["Gateway", "GatewaySettings", "ServiceClients", "app", "connect"]


def app(
    settings: GatewaySettings, services: ServiceClients, studio_folder: Path = FOLDER
) -> Gateway:
    """Return the gateway.

    Args:
        settings: Its settings.
        services: The services behind it.
        studio_folder: The built files of the studio.

    Raises:
        OSError: The services cannot be made to require tokens.
        ValueError: The file of API keys, or of identity providers, is invalid.
    """
    if isinstance(settings.identity_secret, LocalSecret) and not settings.development:
        settings.identity_secret.require_tokens()
    principals = read_keys(settings.api_keys) if settings.api_keys else {}
    if settings.api_key:
        operator = Principal(msgspec.structs.replace(OPERATOR, key_id="settings"))
        principals[settings.api_key.get_secret_value()] = operator
    if settings.trusted_api_key:
        principals[settings.trusted_api_key.get_secret_value()] = Principal(FRONT_END, trusted=True)
    credentials = ServiceCredentials("heddle-gateway")
    accounts = AccountClient(services.accounts, credentials)
    browsers = Browsers(
        Sessions(accounts),
        settings.public_url,
        development=settings.development,
        origins=settings.cors_origins,
    )
    authenticator = Authenticator(
        Keyring(principals),
        [IssuedKeys(accounts), *_lamb_tokens(settings, accounts)],
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
    configured = read_providers(settings.oidc_providers) if settings.oidc_providers else []
    providers = {each.id: IdentityProvider(each, settings.private_networks) for each in configured}
    flows = FlowCookies(settings.identity_secret)
    return Gateway(
        State(
            *(settings, services, authenticator, credentials, organizations, running),
            *(browsers, flows, providers),
            lamb=LambServer(settings.lamb_url) if settings.lamb_url else None,
            studio=studio,
        )
    )


def _lamb_tokens(settings: GatewaySettings, accounts: AccountClient) -> list[LambTokens]:
    """Return what checks LAMB's tokens, nothing if they are valid in LAMB only."""
    if not settings.lamb_url or settings.lamb_jwt_secret is None:
        return []
    return [LambTokens(settings.lamb_jwt_secret.get_secret_value(), accounts)]


def _limits(settings: GatewaySettings) -> RateLimits | None:
    """Return the limits of keys and organisations, None if there are none."""
    limits = RateLimits(
        Limits(settings.key_requests_per_minute, settings.key_concurrent_requests),
        Limits(
            settings.organization_requests_per_minute, settings.organization_concurrent_requests
        ),
    )
    return limits if limits.any else None
