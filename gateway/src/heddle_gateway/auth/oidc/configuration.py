"""The file of identity providers."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Literal, Self, TypeVar

import yaml
from heddle_runtime.http.egress import server_address
from heddle_runtime.redaction import register_values
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator


class SignInFailedError(Exception):
    """A user cannot sign in. The message is for the user; the cause is in the log."""

    def __init__(self, message: str, status: int = 400) -> None:
        """Store the message, and the HTTP status of its page."""
        super().__init__(message)
        self.status = status


_SLUG = r"^[a-z0-9][a-z0-9_-]{0,62}$"
_ID = r"^[a-z0-9][a-z0-9_-]{0,30}$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NewUsers(_Strict):
    """Which unknown addresses become users, and where."""

    organization: str = Field(pattern=_SLUG)
    role: Literal["member", "creator"] = "member"
    domains: tuple[str, ...] = ()
    """Of e-mail addresses; empty: all."""
    claim: str = ""
    """The claim of the ID token that decides; empty: none."""
    values: tuple[str, ...] = ()
    """What the claim, or an item of it, must be."""

    def matches(self, domain: str, claims: dict[str, object]) -> bool:
        """Return whether a user with these claims is created."""
        if self.domains and domain not in self.domains:
            return False
        if not self.claim:
            return True
        value = claims.get(self.claim)
        items = value if isinstance(value, list) else [value]
        return any(item in self.values for item in items)


class ProviderConfiguration(_Strict):
    """An identity provider, and whom it may sign in."""

    id: str = Field(pattern=_ID)
    title: str = Field(min_length=1)
    issuer: str
    client_id: str = Field(min_length=1)
    client_secret: SecretStr | None = None
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    email_claim: str = "email"
    name_claim: str = "name"
    groups_claim: str = "groups"
    """The claim with the names of the user's groups, which groups of learners refer to."""
    requires_verified_email: bool = True
    """Whether the claim `email_verified` must be true. Some providers verify without it."""
    domains: tuple[str, ...] = ()
    """Domains of e-mail addresses that the provider may sign in; empty: all."""
    organizations: tuple[str, ...] = ()
    """Organisations whose users the provider may sign in; empty: all."""
    new_users: tuple[NewUsers, ...] = ()
    """The first rule that matches decides; without one, only existing users sign in."""

    @field_validator("issuer")
    @classmethod
    def _check_issuer(cls, issuer: str) -> str:
        server_address(issuer)
        return issuer

    @field_validator("domains")
    @classmethod
    def _canonical(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(each.casefold() for each in domains)

    @classmethod
    def of(cls, entry: object) -> Self:
        """Return an entry of the file, whose secret no log line contains.

        Raises:
            ValidationError: It is not valid.
        """
        provider = cls.model_validate(entry)
        if provider.client_secret is not None:
            register_values([provider.client_secret.get_secret_value()], provider)
        return provider


ConfigurationT = TypeVar("ConfigurationT", bound=ProviderConfiguration)


def read_providers(
    path: Path, kind: type[ConfigurationT], reserved: Collection[str] = ()
) -> list[ConfigurationT]:
    """Return the identity providers of a YAML or JSON file, which holds a list of them.

    Args:
        path: The file.
        kind: What its entries are.
        reserved: Ids that stand for other systems whose passwords the gateway accepts.

    Raises:
        ValueError: The file cannot be read or is invalid. The message shows no secret.
    """
    try:
        text = path.read_text(encoding="utf-8")
        entries = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        message = f"{path} cannot be read as a file of identity providers: {type(error).__name__}"
        raise ValueError(message) from None
    if not isinstance(entries, list):
        raise ValueError(f"{path} must be a list of identity providers")  # noqa: TRY004 - the file's content is wrong
    providers = []
    for number, entry in enumerate(entries, 1):
        try:
            providers.append(kind.of(entry))
        except ValidationError as error:
            first = error.errors()[0]
            message = f"{path}: provider {number}: {first['loc']}: {first['msg']}"
            raise ValueError(message) from None
    if taken := {each.id for each in providers}.intersection(reserved):
        raise ValueError(f"{path}: the id {min(taken)!r} is reserved. Choose another one.")
    if len({each.id for each in providers}) < len(providers):
        raise ValueError(f"{path}: two providers have the same id")
    return providers
