"""Secrets in settings: what is one, and what opens it."""

import json
from typing import Any

import pytest
from heddle_assistants.accounts.secret_members import (
    is_secret_name,
    masked,
    opened,
    resealed,
    sealed,
    unmasked,
)
from heddle_assistants.database.encryption import Keys, UnreadableSecretError, is_sealed
from hypothesis import given
from hypothesis import strategies as st

KEYS = Keys.of(["k" * 32])
OTHER = Keys.of(["o" * 32])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["token", "api_key", "name", "url"]), inner, max_size=3)
    ),
    max_leaves=8,
)
CONFIGS = st.dictionaries(st.sampled_from(["password", "providers", "a"]), JSON, max_size=3)


@given(CONFIGS)
def test_what_was_sealed_opens_to_the_same(config: dict[str, Any]) -> None:
    assert opened(sealed(config, KEYS, "uni"), KEYS, "uni") == config


@given(CONFIGS)
def test_what_is_shown_can_be_given_back(config: dict[str, Any]) -> None:
    kept = sealed(config, KEYS, "uni")
    assert unmasked(masked(kept), kept, KEYS, "uni") == config


@given(CONFIGS)
def test_what_is_sealed_with_the_newest_key_stays_as_it_is(config: dict[str, Any]) -> None:
    kept = sealed(config, KEYS, "uni")
    assert resealed(kept, KEYS, "uni") == kept
    renewed = resealed(kept, Keys((*OTHER.ciphers, *KEYS.ciphers)), "uni")
    assert opened(renewed, OTHER, "uni") == config


@pytest.mark.parametrize(
    "name",
    ["api_key", "apiKey", "API_KEY", "x-api-key", "token", "kb_token", "password", "clientSecret",
     "privateKey", "Authorization", "wstoken", "signup_key", "credentials", "passphrase"],
)  # fmt: skip
def test_a_telling_name_is_a_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "public_key", "tokenizer", "keyboard", "model", "monkey", "author"]
)
def test_other_names_are_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("url", ["https://user:pass@host/v1", "HTTP://:pass@host"])
def test_an_address_with_a_password_is_a_secret(url: str) -> None:
    assert masked({"base_url": url}) == {"base_url": "********"}
    assert is_sealed(sealed({"base_url": url}, KEYS, "uni")["base_url"])


def test_the_pin_of_a_tool_is_public_whatever_the_tool_is_called() -> None:
    pin = f"sha256:{'0' * 64}"
    server = {"token": pin, "pins": {"get_token": pin, "api_key": "a secret"}}
    config = {"mcp_servers": {"lib": server}, "pins": {"a": {"token": pin}}}
    shown = {"token": "********", "pins": {"get_token": pin, "api_key": "********"}}
    stored = sealed(config, KEYS, "uni")
    assert masked(stored) == {"mcp_servers": {"lib": shown}, "pins": {"a": {"token": "********"}}}
    assert unmasked(masked(stored), stored, KEYS, "uni") == config


@pytest.mark.parametrize("value", [None, "", True, False])
def test_nothing_is_no_secret(value: object) -> None:
    assert masked({"api_key": value}) == {"api_key": value}


SEALED = KEYS.seal("s3cr3t", ("uni", "a", "token"))
IN_PLACE = {"a": {"token": SEALED}}


@pytest.mark.parametrize(
    ("config", "keys", "slug"),
    [
        (IN_PLACE, KEYS, "evil"),
        (IN_PLACE, OTHER, "uni"),
        ({"a": {"password": SEALED}}, KEYS, "uni"),
        ({"a": {"a": {"token": SEALED}}}, KEYS, "uni"),
        ({"a": [{"token": SEALED}]}, KEYS, "uni"),
        ({"a": {"token": SEALED[:-6] + "AAAAAA"}}, KEYS, "uni"),
        ({"a": {"token": "heddle:sealed:1:Ä"}}, KEYS, "uni"),
    ],
    ids=["organisation", "key", "member", "depth", "index", "text", "nonsense"],
)
def test_a_secret_opens_in_its_place_alone(config: dict[str, Any], keys: Keys, slug: str) -> None:
    assert opened(IN_PLACE, KEYS, "uni") == {"a": {"token": "s3cr3t"}}
    with pytest.raises(UnreadableSecretError) as caught:
        opened(config, keys, slug)
    assert "s3cr3t" not in str(caught.value)


def test_the_same_secret_never_looks_the_same() -> None:
    texts = [json.dumps(sealed({"token": "s3cr3t"}, KEYS, "uni")) for _ in range(2)]
    assert texts[0] != texts[1]
    assert "s3cr3t" not in "".join(texts)


def test_sealing_leaves_its_argument_alone() -> None:
    config = {"a": [{"token": "s3cr3t"}]}
    sealed(config, KEYS, "uni")
    assert config == {"a": [{"token": "s3cr3t"}]}


def test_keys_show_nothing_of_themselves() -> None:
    assert "kkk" not in repr(KEYS)
