"""`python -m benchmarks.fairness.attack ADDRESS DOCUMENTS CHATS`: the load of one organisation.

It runs in a process of its own: the times of the others must not contain the time that this client
needs. It prints the number of responses by status when it is stopped.
"""

import asyncio
import contextlib
import json
import signal
import sys
from collections import Counter
from http import HTTPStatus

from benchmarks.fairness.tenants import LOUD, MODEL, Tenant, key

_TABLES = b"<table><tr><td>" * 20_000
_FONTS = b"".join(b"<div><font size=%d></div>" % number for number in range(12_000))
_LISTS = b"<ul><li>text" * 400 + b"<li>text" * 10_000
_DOCUMENTS = (_TABLES, _FONTS, _LISTS)
"""Of 300 kB: one that nests deep, one whose parser hangs, one with very much text."""
_PROMPT = "warp " * 2_000


async def main(address: str, documents: int, chats: int) -> None:
    """Send hostile documents and chats until the process is stopped."""
    statuses: Counter[int] = Counter()
    load = asyncio.ensure_future(_attack(address, documents, chats, statuses))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, load.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await load
    print(f"responses to the load: {dict(statuses)}", flush=True)


async def _attack(address: str, documents: int, chats: int, statuses: Counter[int]) -> None:
    tenant = Tenant(LOUD, address)
    async with tenant.client() as client, asyncio.TaskGroup() as group:
        await tenant.create(client)
        for _ in range(chats):
            group.create_task(_chat(address, statuses))
        for number in range(documents):
            data = _DOCUMENTS[number % len(_DOCUMENTS)]
            attached = await tenant.attach(client, f"{number}.html", data)
            statuses[attached.status_code] += 1
        await asyncio.Future()  # the documents wait to be read


async def _chat(address: str, statuses: Counter[int]) -> None:
    """Ask on a connection of its own. A general client needs more time than Heddle does."""
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": _PROMPT}]}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\n"
        f"authorization: Bearer {key(LOUD)}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    host, _, port = address.partition(":")
    while True:
        reader, writer = await asyncio.open_connection(host, int(port))
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                writer.write(head.encode() + body)
                status, wait = await _response(reader)
                statuses[status] += 1
                await asyncio.sleep(wait)


async def _response(reader: asyncio.StreamReader) -> tuple[int, float]:
    """Read a response; return its status and how many seconds to wait."""
    start, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (it.partition(":") for it in lines)
    }
    await reader.readexactly(int(headers["content-length"]))
    status = int(start.split()[1])
    return status, 0.0 if status == HTTPStatus.OK else float(headers.get("retry-after", 1))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
