"""An identity provider: its address, and its claims about a user."""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import structlog
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.http.egress import Egress, Network
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.http.remote_json import RemoteError, RemoteUnavailableError, fetch
from heddle_runtime.http.web_proxies import NO_PROXIES, WebProxies
from heddle_runtime.rpc.ttl_cache import TTLCache
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey, import_key

from heddle_gateway.auth.browsers import Flow
from heddle_gateway.auth.oidc.configuration import (
    NewUsers,
    ProviderConfiguration,
    SignInFailedError,
)

_ALGORITHMS = [
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
]
"""Signatures with a key that only the provider has. `none` and HS256 are none of them."""
_LEEWAY_SECONDS = 60
Claims = dict[str, Any]


class IdTokenError(ValueError):
    """An ID token cannot be used. The message says why."""


def key_set(document: object) -> KeySet:
    """Return the public keys of a provider that can be used; others are left out.

    Raises:
        IdTokenError: There are none.
    """
    entries = document.get("keys") if isinstance(document, dict) else None
    keys: list[OctKey | RSAKey | ECKey | OKPKey] = [
        *_keys(entries if isinstance(entries, list) else [])
    ]
    if not keys:
        raise IdTokenError("the provider has no keys that can be used")
    return KeySet(keys)


def verified(token: object, keys: KeySet, *, issuer: str, client_id: str, nonce: str) -> Claims:
    """Return the claims of an ID token, as OpenID Connect Core 3.1.3.7 demands.

    Raises:
        IdTokenError: The token is invalid.
    """
    if not isinstance(token, str):
        raise IdTokenError("the response has no ID token")
    try:
        claims: Claims = jwt.decode(token, keys, algorithms=_ALGORITHMS).claims
        jwt.JWTClaimsRegistry(
            leeway=_LEEWAY_SECONDS,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True},
        ).validate(claims)
    except (JoseError, ValueError, TypeError) as error:
        raise IdTokenError(f"the ID token is not valid: {type(error).__name__}") from error
    if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
        raise IdTokenError("the ID token is of another attempt to sign in")
    is_shared = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if is_shared else client_id) != client_id:
        raise IdTokenError("the ID token is for another client")
    return claims


def _keys(entries: Iterable[object]) -> Iterable[RSAKey | ECKey | OKPKey]:
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        try:
            key = import_key(entry)
        except (JoseError, ValueError, TypeError, KeyError):  # of a kind that is not known
            continue
        if isinstance(key, RSAKey | ECKey | OKPKey):
            yield key


log = structlog.get_logger(__name__)
_METADATA_SECONDS = 600.0
_TIMEOUT_SECONDS = 10.0
_MAX_BYTES = 1024 * 1024
_UNAVAILABLE = "The identity provider cannot be reached. Try again later."
_UNUSABLE = "The identity provider's answer cannot be used. Give the time to the operator."


@dataclass(frozen=True, slots=True)
class VerifiedUser:
    """A user whose address a provider has verified."""

    email: str
    name: str
    new_users: NewUsers | None
    """The organisation and role of a new user; None: no user is created."""
    groups: Sequence[str] = ()
    """The names of the groups that the provider says the user is in."""


class IdentityProvider:
    """A provider, reached within the networks that the operator allows."""

    def __init__(
        self,
        configuration: ProviderConfiguration,
        networks: Iterable[Network],
        proxies: WebProxies = NO_PROXIES,
        metadata: Claims | None = None,
    ) -> None:
        """Prepare.

        Args:
            configuration: What the operator says about the provider.
            networks: The private networks in which it may be.
            proxies: Of the web.
            metadata: Its addresses, if it does not describe itself.
        """
        self.configuration = configuration
        self._egress = Egress(networks)
        self._proxies = proxies
        self._known = metadata
        self._metadata: TTLCache[str, Claims] = TTLCache(_METADATA_SECONDS)
        self._keys: TTLCache[str, KeySet] = TTLCache(_METADATA_SECONDS)

    async def authorization_url(self, flow: Flow) -> str:
        """Return the address to which a browser goes to sign in.

        Raises:
            SignInFailedError: The provider does not state its address.
        """
        endpoint = await self._endpoint("authorization_endpoint")
        challenge = hashlib.sha256(flow.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.configuration.client_id,
            "redirect_uri": flow.redirect_uri,
            "scope": " ".join(self.configuration.scopes),
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def user(self, flow: Flow, code: str, issuer: str) -> VerifiedUser:
        """Return the user that a code stands for.

        Args:
            flow: The attempt that the browser has started.
            code: What the provider gave to the browser.
            issuer: The parameter `iss` of the response; empty if there is none.

        Raises:
            SignInFailedError: The provider does not confirm a verified address that may sign in.
        """
        metadata = await self._described()
        announced = metadata.get("authorization_response_iss_parameter_supported") is True
        if (issuer or announced) and issuer != self.configuration.issuer:
            raise self._failure("the response is of another issuer")
        tokens = await self._tokens(flow, code)
        claims = await self.claims(tokens.get("id_token"), flow.nonce)
        if self.configuration.email_claim not in claims and "userinfo_endpoint" in metadata:
            claims |= await self._user_info(tokens.get("access_token"), claims["sub"])
        return self._verified_user(claims)

    def _verified_user(self, claims: Claims) -> VerifiedUser:
        configuration = self.configuration
        email = claims.get(configuration.email_claim)
        if not isinstance(email, str) or "@" not in email:
            raise SignInFailedError(
                f"{configuration.title} does not say your e-mail address. Ask your administrator.",
                HTTPStatus.FORBIDDEN,
            )
        if configuration.requires_verified_email and not _is_true(claims.get("email_verified")):
            raise SignInFailedError(
                f"{configuration.title} has not verified your e-mail address. Verify it there.",
                HTTPStatus.FORBIDDEN,
            )
        email = canonical_email(email)
        domain = email.rpartition("@")[2]
        if configuration.domains and domain not in configuration.domains:
            raise SignInFailedError(
                f"Addresses of {domain[:100]} cannot sign in with {configuration.title}.",
                HTTPStatus.FORBIDDEN,
            )
        name = claims.get(configuration.name_claim)
        rules = (each for each in configuration.new_users if each.matches(domain, claims))
        groups = claims.get(configuration.groups_claim)
        names = groups if isinstance(groups, list) else [groups]
        return VerifiedUser(
            email,
            name if isinstance(name, str) else "",
            next(rules, None),
            [each for each in names if isinstance(each, str)],
        )

    async def _tokens(self, flow: Flow, code: str) -> Claims:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": flow.redirect_uri,
            "code_verifier": flow.verifier,
        }
        metadata = await self._described()
        headers: dict[str, str] = {}
        secret = self.configuration.client_secret
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if secret is not None and "client_secret_basic" in methods:
            pair = (self.configuration.client_id, secret.get_secret_value())
            user = ":".join(quote(each, safe="") for each in pair)  # RFC 6749, 2.3.1
            headers["authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
        else:
            form["client_id"] = self.configuration.client_id
            if secret is not None:
                form["client_secret"] = secret.get_secret_value()
        url = await self._endpoint("token_endpoint")
        status, tokens = await self._fetch("POST", url, data=form, headers=headers)
        if status != HTTPStatus.OK or not isinstance(tokens, dict):
            reason = tokens.get("error") if isinstance(tokens, dict) else None
            raise self._failure(f"the code was refused with {status} {str(reason)[:100]}")
        return tokens

    async def claims(self, token: object, nonce: str) -> Claims:
        """Return the claims of an ID token; keys that have changed are read once more.

        Raises:
            SignInFailedError: The token is not valid, or the keys cannot be read.
        """
        expected = {
            "issuer": self.configuration.issuer,
            "client_id": self.configuration.client_id,
            "nonce": nonce,
        }
        try:
            return verified(token, await self._key_set(), **expected)
        except IdTokenError as error:
            log.info("keys of an identity provider are read again", problem=str(error))
        self._keys.discard("")
        try:
            return verified(token, await self._key_set(), **expected)
        except IdTokenError as error:
            raise self._failure(str(error)) from error

    async def _user_info(self, token: object, subject: object) -> Claims:
        url = await self._endpoint("userinfo_endpoint")
        headers = {"authorization": f"Bearer {token}"}
        status, claims = await self._fetch("GET", url, headers=headers)
        if status != HTTPStatus.OK or not isinstance(claims, dict):
            raise self._failure(f"the user's claims were refused with {status}")
        if claims.get("sub") != subject:
            raise self._failure("the user's claims are of another user")
        return claims

    async def _key_set(self) -> KeySet:
        return await self._keys.get("", self._read_keys)

    async def _read_keys(self) -> KeySet:
        status, document = await self._fetch("GET", await self._endpoint("jwks_uri"))
        try:
            return key_set(document)
        except IdTokenError as error:
            raise self._failure(f"{error} ({status})") from error

    async def _endpoint(self, name: str) -> str:
        """Return an address of the provider, over https unless the issuer itself is not."""
        url = (await self._described()).get(name)
        scheme = urlsplit(url).scheme if isinstance(url, str) else ""
        if scheme not in {"https", urlsplit(self.configuration.issuer).scheme}:
            raise self._failure(f"its {name} is missing or is not secure")
        return str(url)

    async def _described(self) -> Claims:
        return self._known or await self._metadata.get("", self._discover)

    async def _discover(self) -> Claims:
        issuer = self.configuration.issuer
        url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        status, metadata = await self._fetch("GET", url)
        if status != HTTPStatus.OK or not isinstance(metadata, dict):
            raise self._failure(f"it is not described ({status})")
        if metadata.get("issuer") != issuer:
            raise self._failure(f"it calls itself {str(metadata.get('issuer'))[:200]!r}")
        return metadata

    async def _fetch(self, method: str, url: str, **options: Any) -> tuple[int, Any]:  # noqa: ANN401 - JSON
        try:
            async with new_client(_TIMEOUT_SECONDS, self._egress, proxies=self._proxies) as http:
                request = http.build_request(method, url, **options)
                return await fetch(http, request, "The identity provider", max_bytes=_MAX_BYTES)
        except RemoteUnavailableError as error:
            self._report(str(error))
            raise SignInFailedError(_UNAVAILABLE, HTTPStatus.SERVICE_UNAVAILABLE) from error
        except RemoteError as error:
            raise self._failure(str(error)) from error

    def _failure(self, cause: str) -> SignInFailedError:
        """Report a cause to the operator, and return the error for the user."""
        self._report(cause)
        return SignInFailedError(_UNUSABLE, HTTPStatus.BAD_GATEWAY)

    def _report(self, cause: str) -> None:
        log.warning("sign-in with a provider failed", provider=self.configuration.id, cause=cause)


def _is_true(value: object) -> bool:
    """Return whether a claim is true. Some providers send it as text."""
    return value is True or value == "true"
