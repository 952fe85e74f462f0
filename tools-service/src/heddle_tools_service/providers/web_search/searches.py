"""The search providers that an assistant uses, with the keys of its organisation or operator."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx
from heddle_runtime.http.egress import server_address
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_tools_service.capabilities.web_search import WebAnswer
from heddle_tools_service.providers.owner_settings import settings_of
from heddle_tools_service.providers.web_search.engines import PROVIDERS, URLS
from heddle_tools_service.providers.web_search.sites import SearchSite
from heddle_tools_service.sdk import Assistant, ToolError

CONFIGURATION_ERROR = "Web search configuration error:"
_REMEDY = (
    "Set providers.perplexity, tavily, brave or searxng, with api_key or base_url, in the "
    "settings of the organisation; for the operator's assistants, HEDDLE_TOOLS_WEB_SEARCH_KEYS or "
    "HEDDLE_TOOLS_WEB_SEARCH_SEARXNG_URL."
)


@dataclass(frozen=True, slots=True)
class AssistantWeb:
    """The web as an assistant may search it: the capability `WebSearch`."""

    http: httpx.AsyncClient
    guarded_http: httpx.AsyncClient
    """The client for addresses that organisations have configured."""
    settings: OrganizationSettings | None
    """None if no service has settings of organisations."""
    operators: Mapping[str, SearchSite]
    """The providers in the service's own settings."""
    shared: bool
    """Whether organisations without a provider use the operator's."""
    assistant: Assistant

    async def providers(self) -> tuple[str, ...]:
        """Return the names of the providers that are set up."""
        _, sites = await self._sites()
        return tuple(sites)

    async def search(self, query: str, *, max_results: int, provider: str = "") -> WebAnswer:
        """Search the web."""
        http, sites = await self._sites()
        name = provider or next(iter(sites), "")
        if name not in sites:
            raise ToolError(
                "Web search is not set up here. Ask the administrator of your organisation.",
                kind="not_configured",
                diagnosis=f"{name or 'no provider'} of web searches is set up. {_REMEDY}",
            )
        return await PROVIDERS[name](http, sites[name], query, max_results)

    async def _sites(self) -> tuple[httpx.AsyncClient, Mapping[str, SearchSite]]:
        """Return the providers that are set up, and the client that may reach them."""
        settings = await settings_of(self.settings, self.assistant, CONFIGURATION_ERROR)
        own = {}
        for name in PROVIDERS:
            provider = settings.providers.get(name)
            if provider is None or not provider.enabled:
                continue
            site = _site(name, provider.base_url, provider.api_key)
            if site is not None:
                own[name] = site
        if settings.system:  # the operator's own: they may be anywhere
            return self.http, {**self.operators, **own}
        if not own and self.shared:
            return self.http, self.operators
        return self.guarded_http, own


def operators_sites(keys: Mapping[str, str], searxng_url: str) -> dict[str, SearchSite]:
    """Return the search providers that the operator has set up, in the order of preference.

    Args:
        keys: By provider.
        searxng_url: The address of a SearXNG; empty if there is none.
    """
    sites = {
        name: _site(name, searxng_url if name == "searxng" else "", keys.get(name, ""))
        for name in PROVIDERS
    }
    return {name: site for name, site in sites.items() if site is not None}


def _site(name: str, url: str, key: str) -> SearchSite | None:
    if name != "searxng" and not key:
        return None
    try:
        address = server_address(url) if url else URLS.get(name, "")
    except ValueError as error:
        raise ToolError(
            f"{CONFIGURATION_ERROR} the address of {name} is not valid. Ask the administrator of "
            "your organisation.",
            diagnosis=f"providers.{name}.base_url {error}",
        ) from None
    return SearchSite(address, key) if address else None
