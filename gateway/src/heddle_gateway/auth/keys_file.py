"""The keys that the operator writes down: one in a setting, or several in a file."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from heddle_runtime.identity import ANONYMOUS, SERVICE, Identity
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from heddle_gateway.settings import MIN_KEY_CHARACTERS

_HASHED = "sha256:"


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom a key stands for."""

    identity: Identity
    trusted: bool = False
    """Whether requests with the key may say in whose name they come."""


class KeyOwner(BaseModel):
    """What the keys file says of one key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: str = Field(min_length=1)
    organization: str = ""
    scopes: tuple[str, ...] = ()
    trusted: bool = False

    @field_validator("subject")
    @classmethod
    def _refuse_everybody(cls, subject: str) -> str:
        if subject == ANONYMOUS.subject:
            raise ValueError("is nobody's name")
        return subject

    @field_validator("scopes")
    @classmethod
    def _refuse_services(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if SERVICE in scopes:
            raise ValueError(f"{SERVICE!r} is for Heddle's own services, which need no key")
        return scopes

    def holder(self) -> Principal:
        """Return whom the key stands for."""
        return Principal(Identity(self.subject, self.organization, self.scopes), self.trusted)


class Keyring:
    """Known API keys, as digests: the keys themselves are not kept."""

    def __init__(self, holders: Mapping[str, Principal]) -> None:
        self._pepper = secrets.token_bytes(32)
        self._decoy = (secrets.token_bytes(32), Principal(ANONYMOUS))
        self._holders: dict[bytes, tuple[bytes, Principal]] = {}
        for key, holder in holders.items():
            digest = self._digest(hashed(key))
            self._holders[digest] = (digest, holder)

    def holder(self, key: str) -> Principal | None:
        """Return whom `key` stands for, or None. Takes the same steps for every key."""
        if not self._holders:
            return None  # the steps would hide that there is nothing to find
        digest = self._digest(hashlib.sha256(key.encode("utf-8", "replace")).hexdigest())
        known, holder = self._holders.get(digest, self._decoy)
        return holder if hmac.compare_digest(known, digest) else None

    def _digest(self, key_hash: str) -> bytes:
        return hmac.digest(self._pepper, key_hash.encode(), "sha256")


def hashed(key: str) -> str:
    """Return the SHA-256 of a key of a keys file, which may hold `sha256:<hex>` in its place."""
    if key.startswith(_HASHED):
        return key.removeprefix(_HASHED).lower()
    return hashlib.sha256(key.encode()).hexdigest()


def read_keys(path: Path) -> dict[str, Principal]:
    """Return the keys of a YAML or JSON file and whom they stand for.

    The file maps each key, or `sha256:` and the hexadecimal SHA-256 of it, to its owner:
    `subject` and optionally `organization`, `scopes` and `trusted`.

    Raises:
        ValueError: The file cannot be read or is wrong. The message shows no key.
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
    holders = {}
    for number, (key, owner) in enumerate(entries.items(), 1):
        if not isinstance(key, str) or len(key) < MIN_KEY_CHARACTERS:
            message = (
                f"{path}: key {number} must be a text of {MIN_KEY_CHARACTERS} characters or more"
            )
            raise ValueError(message)
        try:
            holders[key] = KeyOwner.model_validate(owner).holder()
        except ValidationError as error:
            first = error.errors()[0]
            message = f"{path}: owner of key {number}: {first['loc']}: {first['msg']}"
            raise ValueError(message) from None
    return holders
