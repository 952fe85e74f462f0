"""The learning platforms whose links of LTI 1.3 Heddle accepts: a file of the operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from heddle_gateway.auth.oidc.configuration import ProviderConfiguration, read_providers
from heddle_gateway.auth.oidc.provider import IdentityProvider
from heddle_gateway.settings import GatewaySettings
from heddle_runtime.contract.email_address import canonical_email
from pydantic import Field, model_validator

from heddle_migration_service.lti.launches import Person, safe
from heddle_migration_service.proxy.settings import LambSettings

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
Claims = Mapping[str, Any]


class PlatformConfiguration(ProviderConfiguration):
    """A platform, as an operator registers Heddle there.

    `domains` are those of e-mail addresses that it may name; without them, it names none, and its
    people have accounts of its own.
    """

    organization: str = Field(min_length=1)
    """The slug of the organisation whose assistants its courses use."""
    deployments: tuple[str, ...] = Field(min_length=1)
    """The ids of the deployments that are accepted."""
    authorization_url: str
    token_url: str
    keys_url: str

    @model_validator(mode="after")
    def _require_safe_addresses(self) -> Self:
        schemes = {"https", urlsplit(self.issuer).scheme}
        for name in ("authorization_url", "token_url", "keys_url"):
            if urlsplit(getattr(self, name)).scheme not in schemes:
                raise ValueError(f"{name} must begin with https://")
        return self


@dataclass(frozen=True, eq=False, slots=True)
class Platform:
    """A platform that runs."""

    configuration: PlatformConfiguration
    provider: IdentityProvider
    """Checks its messages."""

    @property
    def id(self) -> str:
        """Its name in Heddle."""
        return self.configuration.id

    def person(self, claims: Claims, user: str, roles: object) -> Person:
        """Return a person of the platform.

        Args:
            claims: With the name, and with the address if the platform sends it.
            user: The id of the person there.
            roles: A list of URIs.
        """
        email = claims.get("email")
        own = canonical_email(email) if isinstance(email, str) else ""
        if own.rpartition("@")[2] not in self.configuration.domains:
            own = ""
        names = roles if isinstance(roles, list) else []
        return Person(
            own or f"{safe(user)}@{self.id}.lti.local",
            str(claims.get("name") or user),
            ",".join(map(str, names)),
            own,
        )


_running: dict[Path, Mapping[str, Platform]] = {}
"""By the file of the settings."""


def open_platforms(settings: LambSettings, gateway: GatewaySettings) -> None:
    """Read the file of platforms.

    Raises:
        ValueError: It is not valid.
    """
    if settings.lti_platforms is None:
        return
    configurations = read_providers(settings.lti_platforms, PlatformConfiguration)
    _running[settings.lti_platforms] = {
        each.id: Platform(
            each,
            IdentityProvider(
                each, gateway.private_networks, gateway.proxies, {"jwks_uri": each.keys_url}
            ),
        )
        for each in configurations
    }


def platforms_of(settings: LambSettings) -> Mapping[str, Platform]:
    """Return the platforms by their ids."""
    return _running[settings.lti_platforms] if settings.lti_platforms else {}
