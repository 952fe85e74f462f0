"""The values of settings of type `SecretStr`, which `redact` removes wherever they stand."""

import gc
import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from heddle_runtime.errors import InvalidRequestError, Violation, from_status, to_status
from heddle_runtime.redaction import REDACTED, known_secrets, redact, redact_registered
from heddle_runtime.redaction.registered import register_secrets
from heddle_runtime.settings.service import ServiceSettings
from pydantic import BaseModel, SecretStr

KEY = 'magpie "river" 99/é of Lagos'  # in no provider's format


class Inner(BaseModel):
    keys: dict[str, SecretStr]
    more: list[SecretStr] = []


class Outer(BaseModel):
    inner: Inner


@pytest.fixture
def settings() -> BaseModel:
    outer = Outer(inner=Inner(keys={"a": SecretStr(KEY)}, more=[SecretStr("otter-lake-77")]))
    register_secrets(outer)
    return outer


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        json.dumps(KEY),
        json.dumps(json.dumps(KEY)),
        repr(KEY),
        quote(KEY),
        quote(KEY, safe=""),
        quote_plus(KEY),
        b64encode(KEY.encode()).decode(),
        *(b64encode(f"{'u' * n}:{KEY}".encode()).decode() for n in range(1, 4)),
        urlsafe_b64encode(f"u:{KEY}".encode()).decode(),
        "otter-lake-77",
    ],
)
@pytest.mark.usefixtures("settings")
def test_every_form_of_a_registered_value_is_removed(form: str) -> None:
    for shown in (redact(f"sent {form} there"), redact_registered(f"sent {form} there")):
        assert REDACTED in shown
        for part in (form, form[len(form) // 2 :], form[4 : len(form) - 6]):
            assert part not in shown
        assert shown.startswith("sent ")
        assert shown.endswith(" there")


@pytest.mark.parametrize("value", ["", "a", "key", "test123", "xxxxxxxxxxxx", "abababababab"])
def test_a_short_or_uniform_value_does_not_wreck_texts(value: str) -> None:
    settings = Inner(keys={"a": SecretStr(value)})
    register_secrets(settings)
    text = f"a key in a test123 of abababababab and xxxxxxxxxxxx {value}"

    assert redact(text) == text


def test_a_value_is_forgotten_with_its_settings() -> None:
    first, second = (Inner(keys={"a": SecretStr("heron-bank-41")}) for _ in range(2))
    register_secrets(first)
    register_secrets(second)
    del first
    gc.collect()
    assert redact("the heron-bank-41") == f"the {REDACTED}"
    del second
    gc.collect()
    assert redact("the heron-bank-41") == "the heron-bank-41"


def test_few_patterns_find_hundreds_of_values() -> None:
    settings = Inner(keys={str(n): SecretStr(f"organisation-key-{n:04}") for n in range(1_000)})
    before = len(known_secrets())
    register_secrets(settings)

    assert len(known_secrets()) - before <= 17
    assert all(redact(f"x organisation-key-{n:04} y") == f"x {REDACTED} y" for n in range(1_000))


def test_the_settings_of_a_service_are_registered() -> None:
    settings = ServiceSettings(identity_secret=SecretStr("thirty-two characters of a secret"))

    assert settings.identity_secret is not None
    assert redact("it is thirty-two characters of a secret.") == f"it is {REDACTED}."


@pytest.mark.usefixtures("settings")
def test_an_error_contains_no_secret_wherever_it_stands() -> None:
    error = InvalidRequestError(
        f"cannot use {KEY} or password=hunter2",
        [Violation("config", f"is {KEY}")],
        detail=f"token: {KEY}",
    )

    received = from_status(to_status(error))
    for each in (error, received):
        assert each.message == str(each) == f"cannot use {REDACTED} or password={REDACTED}"
        assert each.violations == (Violation("config", f"is {REDACTED}"),)
        assert KEY not in repr(each.metadata)
