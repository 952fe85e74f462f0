"""Tokens that services sign for each other, beside an independent implementation."""

import base64
import hmac
import json

import pytest
from heddle_runtime.identity.signed_tokens import InvalidTokenError, signed, verified
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import OctKey
from runtime.examples import examples

KEY, OTHER = b"a-secret-of-at-least-32-characters", b"another-secret-of-32-characters-or-more"
CLAIMS = st.dictionaries(
    st.text(max_size=9), st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
)


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def by_joserfc(claims: dict[str, object], algorithm: str = "HS256", **header: object) -> str:
    return jwt.encode(
        {"alg": algorithm, **header}, claims, OctKey.import_key(KEY), algorithms=[algorithm]
    )


@given(claims=CLAIMS)
@examples(50)
def test_both_implementations_read_the_tokens_of_each_other(claims: dict[str, object]) -> None:
    token = signed(claims, KEY)
    assert jwt.decode(token, OctKey.import_key(KEY), algorithms=["HS256"]).claims == claims
    assert verified(by_joserfc(claims), [KEY]) == claims


def test_one_of_several_keys_is_enough_and_none_is_not() -> None:
    token = signed({"sub": "ann"}, KEY)
    assert verified(token, [OTHER, KEY]) == verified(token, [KEY, OTHER]) == {"sub": "ann"}
    for keys in ([], [OTHER], [OTHER, b""]):
        with pytest.raises(InvalidTokenError):
            verified(token, keys)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "..",
        "a.b",
        "a.b.c.d",
        "é.b.c",
        by_joserfc({"sub": "ann"}, "HS384"),
        by_joserfc({"sub": "ann"}, "HS512"),
        by_joserfc({"sub": "ann"}, typ="grant"),
        by_joserfc({"sub": "ann"}, kid="1"),
        f"{part({'alg': 'none'})}.{part({'sub': 'ann'})}.",
        f"{part({'alg': 'HS256'})}.{part({'sub': 'ann'})}.",
    ],
)
def test_other_algorithms_headers_and_forms_are_refused(token: str) -> None:
    with pytest.raises(InvalidTokenError):
        verified(token, [KEY])


def test_a_token_has_one_form() -> None:
    """Each change of a character is refused, also one that a decoder of base64 would ignore."""
    token = signed({"sub": "ann", "aud": "looms"}, KEY)
    for index, character in enumerate(token):
        for other in {"A", "B", "_", "="} - {character}:
            with pytest.raises(InvalidTokenError):
                verified(f"{token[:index]}{other}{token[index + 1 :]}", [KEY])
    for more in ("=", "==", "\n", " ", "A", "."):
        with pytest.raises(InvalidTokenError):
            verified(token + more, [KEY])


@pytest.mark.parametrize("payload", [b"[]", b"1", b"{", b'{"a":NaN}', b"\xff"])
def test_what_is_signed_must_be_an_object(payload: bytes) -> None:
    token = by_joserfc({})
    header = token.partition(".")[0]
    body = base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
    digest = hmac.digest(KEY, f"{header}.{body}".encode(), "sha256")
    signature = base64.urlsafe_b64encode(digest)
    with pytest.raises(InvalidTokenError):
        verified(f"{header}.{body}.{signature.rstrip(b'=').decode()}", [KEY])
