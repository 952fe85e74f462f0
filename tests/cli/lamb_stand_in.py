"""A LAMB that shows the prompts of its assistants, by LAMB's rules."""

import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from aiohttp import web
from web_server import web_server

TOKEN = "lamb-token"


def prompt(row: sqlite3.Row, question: str, passages: str | None) -> list[dict[str, str]]:
    """Return the messages that LAMB's `simple_augment` makes."""
    template = row["prompt_template"] or ""
    inserted = "" if passages is None else f"\n\n{passages}\n\n"
    text = template.replace("{user_input}", f"\n\n{question}\n\n").replace("{context}", inserted)
    system = row["system_prompt"]
    before = [{"role": "system", "content": system}] if system else []
    return [*before, {"role": "user", "content": text if template else question}]


@asynccontextmanager
async def lamb_with_prompts(database: Path, passages: dict[int, str]) -> AsyncGenerator[str]:
    """Serve the debugging view of the assistants of a LAMB database, and yield the address.

    Args:
        database: LAMB's database.
        passages: What an assistant's processor finds, by its number; "" for all others.
    """

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return web.json_response({"detail": "Not authenticated"}, status=401)
        number = int(request.path.split("/")[3])
        body: Any = await request.json()
        with closing(sqlite3.connect(database)) as connection:
            connection.row_factory = sqlite3.Row
            query = "SELECT * FROM LAMB_assistants WHERE id = ?"
            row = connection.execute(query, (number,)).fetchone()
        if row is None:
            return web.json_response({"detail": "Assistant not passages"}, status=404)
        question = body["messages"][-1]["content"]
        messages = prompt(row, question, passages.get(number, ""))
        shown = f"Messages:\n{json.dumps(messages, indent=2)}\n\nBody:\n{json.dumps(body)}"
        content = shown if body.get("debug_bypass") else "An answer of LAMB."
        message = {"role": "assistant", "content": content}
        return web.json_response({"choices": [{"index": 0, "message": message}]})

    async with web_server(handle) as url:
        yield url
