"""Gemini's REST form of `generateContent`, as the fake provider speaks it."""

import base64
import json
from typing import Any

from connector.provider import Exchange, Script

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
