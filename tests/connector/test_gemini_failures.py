"""Failures of the connector `banana_img`, against a provider with Gemini's REST API."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import (
    HeddleError,
    ProviderGarbledError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
)
from heddle_runtime.identity.call_metadata import new_call_options

from connector import gemini
from connector.gemini import KEY, PNG, answering, banana, content, draw, failing, files
from connector.provider import Exchange
from connector.service import (
    as_whole,
    events,
    failure,
)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "PROHIBITED_CONTENT"),
        (content(finish="IMAGE_SAFETY"), "IMAGE_SAFETY"),
        ({"candidates": [{"finishReason": "SAFETY", "finishMessage": "Try another."}]}, "Try ano"),
    ],
)
async def test_what_is_withheld_is_a_refusal_that_says_why(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], word: str
) -> None:
    async with banana(answering(given), monkeypatch) as (stub, _):
        error = await failure(stub, draw())
    assert isinstance(error, ProviderRefusedError)
    assert error.metadata["http_status"] == "400"
    assert error.metadata["provider_code"] == "content_policy_violation"
    assert word in error.message


@pytest.mark.parametrize(
    ("status", "given", "headers", "kind", "after", "http_status"),
    [
        (404, failing(404, "NOT_FOUND", "No such model."), {}, ProviderRefusedError, None, "404"),
        (503, failing(503, "UNAVAILABLE", "Overloaded."), {}, UnavailableError, 1, "503"),
        (429, {}, {"retry_after": "7"}, ResourceExhaustedError, 7, "429"),
        (
            429,
            failing(
                429,
                "RESOURCE_EXHAUSTED",
                "Quota.",
                details=[{"@type": "x"}, {"@type": "RetryInfo", "retryDelay": "34.5s"}],
            ),
            {},
            ResourceExhaustedError,
            34.5,
            "429",
        ),
        (
            400,
            failing(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            {},
            ProviderRefusedError,
            None,
            "401",
        ),
        (
            403,
            failing(403, "PERMISSION_DENIED", f"No {KEY}"),
            {},
            ProviderRefusedError,
            None,
            "403",
        ),
        (200, failing(429, "RESOURCE_EXHAUSTED", KEY), {}, ResourceExhaustedError, 1, "429"),
    ],
)
async def test_failures_keep_status_message_and_time_and_tell_no_key(
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    given: dict[str, Any],
    headers: dict[str, str],
    kind: type[HeddleError],
    after: float | None,
    http_status: str,
) -> None:
    async with banana(answering(given, status, **headers), monkeypatch) as (stub, _):
        error = await failure(stub, draw())
    assert isinstance(error, kind)
    assert error.metadata["http_status"] == http_status
    assert error.retry_after == after
    assert KEY not in error.message
    if given and KEY not in str(given):
        assert given["error"]["message"] in error.message


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b'{"candidates":5}',
        json.dumps(content(gemini.picture(b"%PDF-1.7 not a picture"))).encode(),
        json.dumps(content(gemini.picture(b""))).encode(),
        b'{"candidates":[{"content":{"parts":[{"inlineData":{"data":"?"}}]}}]}',
        b"{}",
        json.dumps(content(finish="NO_IMAGE")).encode(),
    ],
)
async def test_garbage_is_a_typed_error_and_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: bytes
) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, body)

    async with banana(script, monkeypatch) as (stub, _):
        assert isinstance(await failure(stub, draw()), ProviderGarbledError)
    assert not files(tmp_path)


async def test_an_answer_without_an_end_is_cut_at_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent_bytes = 0

    async def script(exchange: Exchange) -> None:
        nonlocal sent_bytes
        exchange.begin("application/json")
        while not exchange.writer.is_closing():
            await exchange.send(b" " * 1024 * 1024)
            sent_bytes += 1024 * 1024
            await asyncio.sleep(0)

    async with banana(script, monkeypatch) as (stub, _):
        error = await failure(stub, draw(), 60)
    assert isinstance(error, ProviderGarbledError)
    assert sent_bytes < 64 * 1024 * 1024


@pytest.mark.exhaustive
async def test_a_picture_of_many_megabytes_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    large = PNG + bytes(11 * 1024 * 1024)
    async with banana(answering(content(gemini.picture(large))), monkeypatch) as (stub, _):
        for request in (draw(), as_whole(draw())):
            found = await events(stub, request, 60)
            got = await stub.GetGeneratedImage(
                pb.GetGeneratedImageRequest(name=found[0].image.name), **new_call_options(30)
            )
            assert found[0].image.data == got.image.data == large
