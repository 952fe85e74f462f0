"""`heddle_runtime.identity.callers`."""

import base64
import json
import time

import pytest
from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity.callers import NO_IDENTITY, Identity, TokenSigner, TokenVerifier
from joserfc import jwt
from joserfc.jwk import OctKey

SECRET = "a-secret-of-at-least-32-characters"
SERVICE = "heddle.knowledge.v1.KnowledgeService"
ANN = Identity("ann", "school", ("chat",))


def signed(**changes: object) -> str:
    now = int(time.time())
    claims = {"sub": "ann", "scopes": [], "aud": SERVICE, "iat": now, "exp": now + 60}
    claims = {k: v for k, v in {**claims, **changes}.items() if v is not None}
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET))


@pytest.mark.parametrize(
    "identity", [ANN, Identity("key:1", "school", client_user="5f0c", key_id="1")]
)
def test_a_token_stands_for_its_identity(identity: Identity) -> None:
    assert (
        TokenVerifier(SECRET).identity(TokenSigner(SECRET).token(identity, SERVICE), SERVICE)
        == identity
    )


def test_one_token_serves_many_calls() -> None:
    signer = TokenSigner(SECRET)

    assert signer.token(ANN, SERVICE) == signer.token(ANN, SERVICE)
    assert signer.token(ANN, SERVICE) != signer.token(Identity("bob"), SERVICE)
    assert signer.token(ANN, SERVICE) != signer.token(ANN, "another.Service")


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 1},
        {"exp": None},
        {"aud": "another.Service"},
        {"aud": [SERVICE]},
        {"aud": None},
        {"sub": None},
        {"iat": None},
    ],
    ids=str,
)
def test_a_token_that_is_old_or_for_someone_else_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(UnauthenticatedError):
        TokenVerifier(SECRET).identity(signed(**changes), SERVICE)


def test_no_token_is_signed_without_an_identity() -> None:
    with pytest.raises(UnauthenticatedError):
        TokenSigner(SECRET).token(NO_IDENTITY, SERVICE)
    with pytest.raises(UnauthenticatedError):
        TokenVerifier(SECRET).identity(signed(sub=""), SERVICE)


def test_an_unsigned_token_is_refused() -> None:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"sub": "ann", "scopes": [], "aud": SERVICE, "iat": 1, "exp": 9_999_999_999}
    unsigned = f"{part({'alg': 'none'})}.{part(claims)}."

    with pytest.raises(UnauthenticatedError):
        TokenVerifier(SECRET).identity(unsigned, SERVICE)


def test_a_token_that_was_good_once_is_refused_after_its_end() -> None:
    verifier = TokenVerifier(SECRET)
    token = signed(exp=int(time.time()) + 1)
    assert verifier.identity(token, SERVICE).subject == "ann"

    time.sleep(1.1)
    with pytest.raises(UnauthenticatedError):
        verifier.identity(token, SERVICE)


def test_two_secrets_are_valid_while_one_replaces_the_other() -> None:
    former, new = SECRET, "b" * 40
    identity = Identity("ann")
    before, during, after = (
        (f"{former},{new}", TokenVerifier(f"{former},{new}")),
        (f"{new}, {former}", TokenVerifier(f"{new}, {former}")),
        (new, TokenVerifier(new)),
    )
    for (signing, _), (_, accepting) in ((before, during), (during, before), (during, after)):
        assert (
            accepting.identity(TokenSigner(signing).token(identity, SERVICE), SERVICE) == identity
        )
    with pytest.raises(UnauthenticatedError):
        after[1].identity(TokenSigner(former).token(identity, SERVICE), SERVICE)
    with pytest.raises(UnauthenticatedError):
        before[1].identity(TokenSigner("c" * 40).token(identity, SERVICE), SERVICE)


def test_a_token_is_valid_at_one_service_however_often_it_is_presented() -> None:
    verifier = TokenVerifier(SECRET)
    token = TokenSigner(SECRET).token(ANN, SERVICE)
    for _ in range(2):
        assert verifier.identity(token, SERVICE) == ANN
        with pytest.raises(UnauthenticatedError, match="for another service"):
            verifier.identity(token, "heddle.tool.v1.ToolService")


def test_a_token_of_the_future_is_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    signer, now = TokenSigner(SECRET), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    signer.token(ANN, SERVICE)
    monkeypatch.setattr(time, "time", lambda: now)
    assert TokenVerifier(SECRET).identity(signer.token(ANN, SERVICE), SERVICE) == ANN
