"""API keys of the settings: one key for everything, one for Open WebUI, or several in a file."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import yaml
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.identity.callers import OPERATOR, SERVICE, Identity
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from heddle_gateway.settings import MIN_KEY_CHARACTERS, GatewaySettings

_HASHED = "sha256:"
FRONT_END = Identity("key:trusted", key_id="settings:trusted")
"""The owner of the trusted key in the settings, for requests that name no user."""
SETTINGS_KEY = "settings"
"""The id of the operator's key in the settings."""
_NO_KEY = (
    "set HEDDLE_GATEWAY_API_KEY or HEDDLE_GATEWAY_API_KEYS, or "
    "HEDDLE_GATEWAY_ISSUED_KEYS_ONLY=true to accept only keys of `heddle keys create`, or "
    "HEDDLE_GATEWAY_DEVELOPMENT=true to try Heddle on this machine without a key"
)
_SAME_KEY = (
    "HEDDLE_GATEWAY_TRUSTED_API_KEY must not be the operator's key, which may do everything: "
    "generate another key"
)


@dataclass(frozen=True, slots=True)
class Principal:
    """The owner of a key."""

    identity: Identity
    trusted: bool = False
    """Whether requests with the key may act on behalf of other users."""
    expires_at: int | None = None
    """The time at which the key expires, in seconds since 1970; None: never."""


class KeyOwner(BaseModel):
    """The owner of a key in the keys file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: str = Field(min_length=1)
    organization: str = ""
    scopes: tuple[str, ...] = ()
    trusted: bool = False

    @field_validator("subject")
    @classmethod
    def _unify_emails(cls, subject: str) -> str:
        return canonical_email(subject)

    @field_validator("scopes")
    @classmethod
    def _refuse_services(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if SERVICE in scopes:
            raise ValueError(f"{SERVICE!r} is reserved for Heddle's own services")
        return scopes

    def principal(self, key_id: str) -> Principal:
        """Return the owner as a principal. The audit log names the key by `key_id`."""
        identity = Identity(self.subject, self.organization, self.scopes, key_id=key_id)
        return Principal(identity, self.trusted)


class Keyring:
    """API keys, stored as digests."""

    def __init__(self, principals: Mapping[str, Principal]) -> None:
        self._pepper = secrets.token_bytes(32)
        self._principals = {self._digest(hashed(key)): each for key, each in principals.items()}

    def principal(self, key: str) -> Principal | None:
        """Return the owner of `key`, or None.

        The time of the look-up tells nothing about the keys: clients cannot know their digests.
        """
        if not self._principals:
            return None  # saves the digest of each key in development mode
        return self._principals.get(
            self._digest(hashlib.sha256(key.encode("utf-8", "replace")).hexdigest())
        )

    def _digest(self, key_hash: str) -> bytes:
        return hmac.digest(self._pepper, key_hash.encode(), "sha256")


def configured_keys(
    settings: GatewaySettings, more: Iterable[SecretStr] = ()
) -> dict[str, Principal]:
    """Return the keys of the settings and their owners; `more` keys are the operator's.

    Raises:
        ValueError: There is no key and one is needed, the trusted key is the operator's, or the
            file of keys is invalid.
    """
    principals = read_keys(settings.api_keys) if settings.api_keys else {}
    operator = Principal(msgspec.structs.replace(OPERATOR, key_id=SETTINGS_KEY))
    operators = [each for each in (settings.api_key, *more) if each]
    principals |= {each.get_secret_value(): operator for each in operators}
    if settings.trusted_api_key in operators:
        raise ValueError(_SAME_KEY)
    if settings.trusted_api_key:
        principals[settings.trusted_api_key.get_secret_value()] = Principal(FRONT_END, trusted=True)
    if not (principals or settings.development or settings.issued_keys_only):
        raise ValueError(_NO_KEY)
    return principals


def hashed(key: str) -> str:
    """Return the SHA-256 of a key of a keys file, which may hold `sha256:<hex>` in its place."""
    if key.startswith(_HASHED):
        return key.removeprefix(_HASHED).lower()
    return hashlib.sha256(key.encode()).hexdigest()


def read_keys(path: Path) -> dict[str, Principal]:
    """Return the keys of a YAML or JSON file and their owners.

    The file maps each key, or `sha256:` and the hexadecimal SHA-256 of it, to its owner:
    `subject` and optionally `organization`, `scopes` and `trusted`.

    Raises:
        ValueError: The file cannot be read or is invalid. The message shows no key.
    """
    try:
        text = path.read_text(encoding="utf-8")
        entries = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        message = f"{path} cannot be read as a keys file: {type(error).__name__}"
        raise ValueError(message) from None
    if not isinstance(entries, dict) or not entries:
        message = f"{path} must map keys to their owners"
        raise ValueError(message)
    principals = {}
    for number, (key, owner) in enumerate(entries.items(), 1):
        if not isinstance(key, str) or len(key) < MIN_KEY_CHARACTERS:
            message = (
                f"{path}: key {number} must be a text of {MIN_KEY_CHARACTERS} characters or more"
            )
            raise ValueError(message)
        try:
            principals[key] = KeyOwner.model_validate(owner).principal(f"file:{number}")
        except ValidationError as error:
            first = error.errors()[0]
            message = f"{path}: owner of key {number}: {first['loc']}: {first['msg']}"
            raise ValueError(message) from None
    return principals
