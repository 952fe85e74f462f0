"""Gemini's REST form of `generateContent`, as the fake provider speaks it."""

import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb

from connector.provider import Exchange, Provider, Script, provider
from connector.service import (
    Stub,
    asked,
    events,
    said,
    service,
)

MODEL = "gemini-2.5-flash-image"
KEY = "AIzaSyA-test-0123456789abcdefghijkl"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(32))
JPEG = b"\xff\xd8\xff\xe0" + bytes(range(32))
WEBP = b"RIFF\x00\x00\x00\x20WEBPVP8 " + bytes(16)
GIF = b"GIF89a" + bytes(range(32))


def picture(data: bytes = PNG, mime: str = "image/png", **more: Any) -> dict[str, Any]:
    """Return a part that is a picture."""
    blob = {"mimeType": mime, "data": base64.b64encode(data).decode()}
    return {"inlineData": blob, **more}


def content(*parts: dict[str, Any], finish: str = "STOP", **more: Any) -> dict[str, Any]:
    """Return an answer of one candidate."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}
    usage = {
        "promptTokenCount": 12,
        "candidatesTokenCount": 1290,
        "thoughtsTokenCount": 30,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 1332,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash-image",
        **more,
    }


def answering(given: object, status: int = 200, **headers: str) -> Script:
    """Return a script that answers with one JSON value."""

    async def script(exchange: Exchange) -> None:
        await exchange.reply(status, json.dumps(given), **headers)

    return script


def failing(status: int, code: str, message: str, **more: Any) -> dict[str, Any]:
    """Return Google's error object."""
    return {"error": {"code": status, "message": message, "status": code, **more}}


@asynccontextmanager
async def banana(
    script: Script, monkeypatch: pytest.MonkeyPatch, key: str = KEY
) -> AsyncGenerator[tuple[Stub, Provider]]:
    """Run the service with its `banana_img` connector pointed at a Gemini that does `script`."""
    async with provider(script) as made:
        monkeypatch.setenv("HEDDLE_CONNECTOR_BANANA_IMG_BASE_URL", f"{made.url}/v1beta")
        monkeypatch.setenv("HEDDLE_CONNECTOR_BANANA_IMG_API_KEY", key)
        async with service() as stub:
            yield stub, made


def draw(*messages: chat.Message, **fields: Any) -> pb.GenerateMessageRequest:
    return asked("banana_img", MODEL, messages or [said("A loom.")], **fields)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def sent(
    monkeypatch: pytest.MonkeyPatch, *messages: chat.Message, **fields: Any
) -> dict[str, Any]:
    """Return the body that Gemini gets for a request."""
    script = answering(content(picture()))
    async with banana(script, monkeypatch) as (stub, made):
        await events(stub, draw(*messages, **fields))
    body: dict[str, Any] = made.exchanges[0].json
    return body
