"""A provider's refusal keeps its status, its message and its Retry-After, and loses its secrets."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from heddle_connector.http.provider_errors import retry_after
from heddle_runtime.errors import (
    HeddleError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
)

from connector.provider import Exchange, Script
from connector.service import as_whole, asked, failure, openai_at

KEY = "my-very-own-provider-key"


def refusing(status: int, body: bytes | str = b"", **headers: str) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(status, body, **headers)

    return script


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, ProviderRefusedError),
        (401, ProviderRefusedError),
        (402, ProviderRefusedError),
        (403, ProviderRefusedError),
        (404, ProviderRefusedError),
        (408, UnavailableError),
        (413, ProviderRefusedError),
        (422, ProviderRefusedError),
        (429, ResourceExhaustedError),
        (500, UnavailableError),
        (502, UnavailableError),
        (529, UnavailableError),
        (307, ProviderRefusedError),
    ],
)
async def test_a_status_becomes_a_typed_error_with_the_providers_own_words(
    status: int,
    expected: type[HeddleError],
    whole: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = {"message": "The model does not exist", "type": "t", "code": "c", "param": "model"}
    script = refusing(status, json.dumps({"error": error}), location="http://127.0.0.1:1/")
    async with openai_at(script, monkeypatch) as (stub, provider):
        found = await failure(stub, as_whole(asked()) if whole else asked())
    assert type(found) is expected
    assert "The model does not exist" in found.message
    assert found.metadata == {
        "provider": "openai",
        "http_status": str(status),
        "provider_type": "t",
        "provider_code": "c",
        "provider_param": "model",
    }
    assert len(provider.exchanges) == 1  # neither repeated nor redirected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error":"model \'x\' not found"}', "model 'x' not found"),
        ('[{"error":{"message":"quota","status":"X"}}]', "quota"),
        ('{"detail":"no such thing"}', "no such thing"),
        ('{"object":"error","message":"too long","code":400}', "too long"),
        ("<html>Bad</html>", "The provider refused the request with HTTP 400."),
        ("", "The provider refused the request with HTTP 400."),
        ("[" * 70_000, "The provider refused the request with HTTP 400."),
    ],
)
async def test_the_message_is_found_in_every_common_form(
    body: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with openai_at(refusing(400, body), monkeypatch) as (stub, _):
        assert (await failure(stub, asked())).message == message


async def test_secrets_and_addresses_of_people_do_not_get_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = f"Key {KEY} of ada@example.org, header Bearer sk-proj-abcdefghijklmnop, is wrong"
    body = json.dumps({"error": {"message": text, "code": KEY}})
    for status in (401, 500):
        async with openai_at(refusing(status, body), monkeypatch, KEY) as (stub, _):
            error = await failure(stub, asked())
        shown = repr((error.message, error.metadata))
        assert KEY not in shown
        assert "sk-proj" not in shown
        assert "ada@" not in shown
        assert "is wrong" in shown


@pytest.mark.parametrize("letter", ["a", "é", "漢", "🧵", "\n", "%"])
async def test_a_very_long_message_still_fits_the_trailers(
    letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({"error": {"message": letter * 5_000}})
    async with openai_at(refusing(400, body), monkeypatch) as (stub, _):
        error = await failure(stub, asked())
    assert type(error) is ProviderRefusedError
    assert 400 < len(error.message) <= 2000


async def test_retry_after_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, headers, expected in (
        (429, {"retry_after": "7"}, 7.0),
        (429, {"retry_after": "60", "retry_after_ms": "1500"}, 1.5),
        (503, {"retry_after": "2"}, 2.0),
        (429, {}, 1.0),
    ):
        async with openai_at(refusing(status, "{}", **headers), monkeypatch) as (stub, provider):
            error = await failure(stub, asked())
        assert error.retry_after == expected
        assert len(provider.exchanges) == 1


def test_retry_after_is_read_in_all_its_forms() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(days=3), usegmt=True)
    assert 28 < (retry_after({"retry-after": soon}) or 0) <= 30
    assert retry_after({"retry-after": past}) == 0
    assert retry_after({"retry-after": "-5"}) == 0
    for nonsense in ("", "soon", "inf", "nan", "1e300", "Mon, 99 Foo 2026", "9" * 5000):
        assert retry_after({"retry-after": nonsense}) is None
