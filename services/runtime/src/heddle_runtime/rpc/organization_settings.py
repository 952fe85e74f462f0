"""The settings of the organisation of an assistant's owner, from the account service."""

from collections.abc import Iterator
from dataclasses import dataclass

import grpc
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub

from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.redaction import register_values
from heddle_runtime.rpc.in_process import InProcessChannel
from heddle_runtime.rpc.ttl_cache import TTLCache

ACCOUNTS = pb.DESCRIPTOR.services_by_name["AccountService"]
CACHE_SECONDS = 5.0
"""The number of seconds after which changed settings apply at the latest."""
Channel = grpc.aio.Channel | InProcessChannel


def account_stub(accounts: Channel) -> AccountServiceAsyncStub:
    """Return a client of the account service."""
    return pb_grpc.AccountServiceStub(accounts)  # type: ignore[arg-type] # an in-process channel replaces a real one


class OrganizationSettings:
    """Reads settings with the identity of the service that needs them, and caches them."""

    def __init__(
        self,
        accounts: AccountServiceAsyncStub,
        credentials: ServiceCredentials,
        *,
        cache_seconds: float = CACHE_SECONDS,
        without_servers: bool = False,
    ) -> None:
        """Create a client of the account service.

        Args:
            accounts: The account service.
            credentials: The identity of the service.
            cache_seconds: How long settings are cached.
            without_servers: Whether addresses and keys of servers are left out.
        """
        self._accounts = accounts
        self._credentials = credentials
        self._without_servers = without_servers
        self._known: TTLCache[bytes, _Known] = TTLCache(cache_seconds)

    async def of(self, organization: str, owner: str) -> pb.ResolveSettingsResponse:
        """Return the settings that apply to an assistant. The caller must not change them.

        The settings are those of the organisation or, if it is empty, of the owner's organisation:
        users of two organisations may have the same name. Those of the default organisation apply
        if there is no owner, or if the account service does not know the owner.

        Raises:
            HeddleError: The settings are not available.
        """
        if organization:
            return await self._settings(pb.ResolveSettingsRequest(organization=organization))
        if owner:
            settings = await self._settings(pb.ResolveSettingsRequest(owner=owner))
            if settings.organization:
                return settings
        return await self._settings(pb.ResolveSettingsRequest(organization=DEFAULT_ORGANIZATION))

    async def current(self, organization: str) -> pb.ResolveSettingsResponse:
        """Return the settings of an organisation as they are now. They are not cached.

        Raises:
            HeddleError: The settings are not available.
        """
        request = pb.ResolveSettingsRequest(organization=organization)
        return await self._credentials.call(self._accounts.ResolveSettings, request)

    async def number(self, organization: str, owner: str) -> int | None:
        """Return the number that identifies an assistant's owner in imported data, if there is one.

        A user of the same name in another organisation is another user.

        Raises:
            HeddleError: The account service is not available.
        """
        if not owner:
            return None
        request = pb.ResolveSettingsRequest(owner=owner, organization=organization)
        settings = await self._settings(request)
        return settings.user_id if settings.HasField("user_id") else None

    async def _settings(self, request: pb.ResolveSettingsRequest) -> pb.ResolveSettingsResponse:
        request.without_servers = self._without_servers
        known = await self._known.get(request.SerializeToString(), lambda: self._load(request))
        return known.settings

    async def _load(self, request: pb.ResolveSettingsRequest) -> "_Known":
        known = _Known(await self._credentials.call(self._accounts.ResolveSettings, request))
        register_values(_secrets(known.settings), known)
        return known


async def may_trace_texts(settings: OrganizationSettings | None, slug: str, owner: str) -> bool:
    """Return whether the texts of the current request may be in its spans.

    The organisations of the assistant and of the caller can forbid it. If they cannot be asked,
    it is forbidden.

    Args:
        settings: The settings of organisations; None if no service has them.
        slug: Names the organisation of the assistant.
        owner: Of the assistant.
    """
    if settings is None:
        return True
    own = caller().identity.organization
    owners = {(slug, owner), (own, "")} if own else {(slug, owner)}
    try:
        for name, user in owners:
            if (await settings.of(name, user)).traces_without_content:
                return False
    except HeddleError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class _Known:
    """Cached settings. While the object exists, `redact` removes their secrets from texts."""

    settings: pb.ResolveSettingsResponse


def _secrets(settings: pb.ResolveSettingsResponse) -> Iterator[str]:
    yield from (provider.api_key for provider in settings.providers.values())
    yield from (server.token for server in settings.mcp_servers.values())
    yield from (server.api_key for server in settings.search_servers.values())
    yield from (settings.knowledge.token, settings.knowledge_store.token, settings.moodle.token)
