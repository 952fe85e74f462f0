"""Who asks: a key, looked up among the known ones, becomes an identity that services can verify."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from heddle_runtime.calls import AUTHORIZATION, CALLER, Caller
from heddle_runtime.errors import PermissionDeniedError, UnauthenticatedError
from heddle_runtime.identity import ANONYMOUS, Identity, TokenSigner
from pydantic import BaseModel, ConfigDict, ValidationError

from heddle_gateway.exchange import Exchange

SHORTEST_KEY = 16
DEVELOPER = Identity("developer")
_HASHED = "sha256:"
_SENT_IN = AUTHORIZATION.encode()
_LOOPBACK = {"localhost", "127.0.0.1", "::1", ""}


class KeyOwner(BaseModel):
    """What the keys file says of one key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: str
    organization: str = ""
    scopes: tuple[str, ...] = ()

    def identity(self) -> Identity:
        """Return who the key stands for."""
        return Identity(self.subject, self.organization, self.scopes)


class Keyring:
    """The known API keys, as digests: the keys themselves are not kept."""

    def __init__(self, owners: Mapping[str, Identity]) -> None:
        self._pepper = secrets.token_bytes(32)
        self._decoy = (secrets.token_bytes(32), ANONYMOUS)
        self._owners: dict[bytes, tuple[bytes, Identity]] = {}
        for key, identity in owners.items():
            digest = self._digest(hashed(key))
            self._owners[digest] = (digest, identity)

    def identity(self, key: str) -> Identity | None:
        """Return who `key` stands for, or None. Takes the same steps for every key."""
        if not self._owners:
            return None  # the steps would hide that there is nothing to find
        digest = self._digest(hashlib.sha256(key.encode("utf-8", "replace")).hexdigest())
        known, identity = self._owners.get(digest, self._decoy)
        return identity if hmac.compare_digest(known, digest) else None

    def _digest(self, key_hash: str) -> bytes:
        return hmac.digest(self._pepper, key_hash.encode(), "sha256")


def hashed(key: str) -> str:
    """Return the SHA-256 of a key of a keys file, which may hold `sha256:<hex>` in its place."""
    if key.startswith(_HASHED):
        return key.removeprefix(_HASHED).lower()
    return hashlib.sha256(key.encode()).hexdigest()


def read_keys(path: Path) -> dict[str, Identity]:
    """Return the keys of a YAML or JSON file and their owners.

    The file maps each key, or `sha256:` and the hexadecimal SHA-256 of it, to its owner:
    `subject` and optionally `organization` and `scopes`.

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
    owners = {}
    for number, (key, owner) in enumerate(entries.items(), 1):
        if not isinstance(key, str) or len(key) < SHORTEST_KEY:
            message = f"{path}: key {number} must be a text of {SHORTEST_KEY} characters or more"
            raise ValueError(message)
        try:
            owners[key] = KeyOwner.model_validate(owner).identity()
        except ValidationError as error:
            first = error.errors()[0]
            message = f"{path}: owner of key {number}: {first['loc']}: {first['msg']}"
            raise ValueError(message) from None
    return owners


class Gate:
    """Lets requests in, and tells the services behind in whose name they come."""

    def __init__(
        self,
        keyring: Keyring,
        secret: str | None,
        *,
        development: bool = False,
        origins: tuple[str, ...] = (),
    ) -> None:
        self._keyring = keyring
        self._signer = TokenSigner(secret) if secret else None
        self._development = development
        self._origins = origins
        self._loopback_host = ""

    def admit(self, exchange: Exchange, *, required: bool) -> None:
        """Find out who asks and remember it for the calls that the request causes.

        Raises:
            UnauthenticatedError: A key is `required` and missing or wrong, or two were sent.
            PermissionDeniedError: A web page asks a gateway that is open to its own machine only.
        """
        if self._development:
            self._keep_web_pages_out(exchange)
        key = _bearer(exchange)
        identity = self._keyring.identity(key)
        if identity is None and self._development:
            identity = DEVELOPER
        if identity is None and required:
            raise UnauthenticatedError(
                "The API key is not valid."
                if key
                else "The API key is missing. Send it in the header 'Authorization: Bearer KEY'."
            )
        self.enter(exchange, identity or ANONYMOUS)

    def enter(self, exchange: Exchange, identity: Identity = ANONYMOUS) -> None:
        """Let the calls of this request go out in the name of `identity`."""
        token = self._signer.token(identity) if self._signer else ""
        CALLER.set(Caller(exchange.request_id, identity, token, exchange.traceparent()))

    def _keep_web_pages_out(self, exchange: Exchange) -> None:
        """Refuse what a page of another site makes a browser send: there is no key to ask for."""
        origin = exchange.header("origin")
        host = exchange.header("host")
        if not self._is_loopback(host) or (origin and origin not in self._origins):
            raise PermissionDeniedError(
                "In development mode the gateway answers only programs of its own machine that "
                "call it by 127.0.0.1 or localhost, and web pages listed in "
                "HEDDLE_GATEWAY_CORS_ORIGINS."
            )

    def _is_loopback(self, host: str) -> bool:
        if host == self._loopback_host:  # nearly all requests have the same
            return True
        if (urlsplit(f"//{host}").hostname or "") not in _LOOPBACK:
            return False
        self._loopback_host = host
        return True


def _bearer(exchange: Exchange) -> str:
    if _SENT_IN not in exchange.headers:
        return ""
    sent = [value for name, value in exchange.scope["headers"] if name == _SENT_IN]
    if len(sent) > 1:  # which of the two would be believed?
        raise UnauthenticatedError("The request carries two authorizations.")
    scheme, _, key = sent[0].decode("latin-1").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""
