"""Checks the addresses of an organisation's servers: the operator must allow their networks."""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

from heddle_runtime.errors import NotFoundError
from heddle_runtime.http.egress import SETTING, Egress, ForbiddenAddressError, server_address

from heddle_assistants.accounts.organizations import Organizations
from heddle_assistants.accounts.resolution import resolved, servers
from heddle_assistants.accounts.secret_members import MASK, Config
from heddle_assistants.accounts.settings_text import wrong

_PATIENCE = 2.0
"""Seconds that looking a name up may take."""


class Addresses:
    """Checks addresses when they are set. Services check them again when they connect."""

    def __init__(self, organizations: Organizations, egress: Egress) -> None:
        self._organizations = organizations
        self._egress = egress

    async def check(self, slug: str, settings: Config) -> None:
        """Refuse settings with a server that has no HTTP address, or an address that is forbidden.

        The operator's organisations may have servers in private networks. Addresses that do not
        change are not checked, because an import may have stored them.

        Raises:
            InvalidRequestError: They do.
        """
        system = False
        stored: Config = {}
        with suppress(NotFoundError):  # a new one
            organization = await self._organizations.get(slug)
            system, stored = organization.system, organization.settings
        known = {name: address for name, address, _ in servers(resolved("", stored, {}))}
        for name, address, _ in servers(resolved("", settings, {})):
            if address in ("", MASK, known.get(name)):
                continue
            try:
                server_address(address)
            except ValueError as error:
                raise wrong(
                    f"has an address at {name!r} that cannot be used: it {error}. Set it to one "
                    "such as https://models.example.org/v1"
                ) from None
            if not system and not await self._permits(address):
                raise wrong(
                    f"puts {name!r} into a private network, which the operator can allow with "
                    f"{SETTING}"
                )

    async def _permits(self, address: str) -> bool:
        try:
            parts = urlsplit(address)
            async with asyncio.timeout(_PATIENCE):
                await self._egress.addresses(parts.hostname or "", parts.port or 80)
        except ForbiddenAddressError:
            return False
        except (OSError, ValueError):  # no address, or a name that is not known now
            return True
        return True
