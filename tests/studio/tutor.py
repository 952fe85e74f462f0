"""A provider that answers as a tutor: with formulas, code and tables, slowly if it is asked to."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web
from web_server import web_server

RICH = r"""The energy is $E = mc^2$, and the sum is

$$
\sum_{i=1}^{n} i = \frac{n(n+1)}{2}
$$

| weft | warp |
|:-----|-----:|
| 1    | 20   |

- [x] read
- [ ] weave

```python
def area(width: float) -> float:
    return 2 * width  # the loom
```

See [1]. <img src=x onerror="document.title='taken'"> \href{javascript:alert(1)}{x}
"""
REPORTED = "Executing inline event handler"
"""Chromium's report of what `RICH` would execute. It comes too of a text that is only read, in a
document that is not shown, before what could execute is left out."""
PAUSE_SECONDS = 0.1
TOKEN_SECONDS = 0.01
LONG = 20
"""How often the long answer has the rich one."""


async def complete(request: web.Request) -> web.StreamResponse:
    """Answer the last question: `slowly`, `rich`, `short of space`, `fail`, or with an echo.

    `quickly` makes the rich answer a long one of 100 tokens a second. Asked which of numbered facts
    an answer states, the tutor finds the first one.
    """
    body = await request.json()
    question = _text(body["messages"][-1])
    if "fail" in question:
        return web.json_response({"error": {"message": "No."}}, status=400)
    text = RICH if "rich" in question else f"You asked: {question}"
    pause = 0.0
    if "slowly" in question:
        text, pause = " ".join(f"word{number}" for number in range(60)), PAUSE_SECONDS
    if "\n\nFacts:\n1. " in question:
        text = "1"
    if "quickly" in question:
        text, pause = RICH * LONG, TOKEN_SECONDS
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for piece in text.split(" "):
        await response.write(_chunk({"content": f"{piece} "}))
        await asyncio.sleep(pause)
    reason = "length" if "short of space" in question else "stop"
    await response.write(_chunk({}, reason) + b"data: [DONE]\n\n")
    return response


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", f"[{part['type']}]") for part in content)


def _chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode()


@contextmanager
def tutor() -> Iterator[str]:
    """Serve the tutor in a thread; yield its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    app = web.Application(client_max_size=0)
    app.router.add_post("/v1/chat/completions", complete)
    server = web_server(app)
    url = asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield f"{url}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
