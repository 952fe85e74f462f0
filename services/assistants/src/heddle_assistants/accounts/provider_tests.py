"""Asks the connector service whether changed providers work. Never called within a transaction."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import grpc
from heddle.account.v1.account_pb2 import Provider
from heddle.connector.v1 import connector_pb2
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
from heddle_runtime.errors import (
    InvalidRequestError,
    NotFoundError,
    NotSetUpError,
    from_rpc,
)
from heddle_runtime.identity.call_metadata import CallOptions, Context, call_options
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION

from heddle_assistants.accounts.organizations import Organizations
from heddle_assistants.accounts.resolution import resolved
from heddle_assistants.accounts.secret_members import MASK, Config
from heddle_assistants.accounts.settings_text import wrong
from heddle_assistants.other_services import OtherServices

_TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class ProviderTests:
    """Tests the providers in settings when they are set. An import stores them without a test."""

    organizations: Organizations
    services: OtherServices

    async def check(self, slug: str, settings: Config, context: Context) -> None:
        """Refuse settings with a new or changed provider of models that lists none.

        Nothing is tested in a process without a connector service.

        Raises:
            InvalidRequestError: A provider does not work. The message has the cause and the remedy.
            HeddleError: The connector service cannot be asked.
        """
        if (stub := self.services.connectors) is None:
            return
        stored: Config = {}
        tester = DEFAULT_ORGANIZATION  # a new organisation cannot be asked about
        with suppress(NotFoundError):
            stored, tester = (await self.organizations.get(slug)).settings, slug
        known = resolved("", stored, {}).providers
        requests = [
            connector_pb2.CheckProviderRequest(
                organization=tester,
                connector=name,
                base_url=each.base_url,
                api_key=each.api_key,
            )
            for name, each in sorted(resolved("", settings, {}).providers.items())
            if each.enabled and (name not in known or _is_changed(each, known[name]))
        ]
        options = call_options(context, _TIMEOUT_SECONDS)
        await asyncio.gather(*(_check(stub, request, options) for request in requests))


async def _check(
    stub: "ConnectorServiceAsyncStub",
    request: connector_pb2.CheckProviderRequest,
    options: CallOptions,
) -> None:
    try:
        response = await stub.CheckProvider(request, **options)
        problem = response.message
        if response.provider_message:
            problem += f" The provider says: {response.provider_message}"
    except grpc.aio.AioRpcError as failure:
        error = from_rpc(failure)
        if isinstance(error, NotFoundError):  # a provider of something else, such as web searches
            return
        if not isinstance(error, InvalidRequestError | NotSetUpError):
            raise error from None
        problem = " ".join([error.message, *(each.description for each in error.violations)])
    if problem:
        raise wrong(
            f"has a provider {request.connector!r} that does not work, and is stored only with "
            f"allow_failing_providers: {problem}"
        )


def _is_changed(provider: Provider, stored: Provider) -> bool:
    is_same = provider.base_url == stored.base_url and stored.enabled
    return not is_same or provider.api_key not in ("", MASK)
