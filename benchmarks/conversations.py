"""Measures what a turn and a search cost beside 2,000 conversations of 50 turns of one person.

`python -m benchmarks.conversations` prints milliseconds of CPU and of time: to read the context of
a turn, to store a turn, to search in the sealed words, and to search in the sealed texts instead.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_assistants.audit.log import open_audit_log
from heddle_assistants.conversations.answers import ConversationServicer
from heddle_assistants.conversations.items import Line, add
from heddle_assistants.conversations.owners import Owners, now, writing
from heddle_assistants.conversations.store import extended, find
from heddle_assistants.conversations.words import texts_of, words_of
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import SCHEMA, conversation_items
from heddle_assistants.insights.counting import Counting
from heddle_assistants.repository.rows import Rows
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_runtime.storage.database.prepared import execute
from heddle_runtime.storage.database.upgrading import upgrade
from sqlalchemy import select

_CONVERSATIONS, _TURNS, _ROUNDS = 2_000, 50, 5
_STORED = 60
"""Turns that are stored: the first ones prepare statements."""
_VOCABULARY, _WORDS = 20_000, 60
_NO_CONTEXT: Any = None
"""The context of a call, which the service does not read."""
_RANDOM = random.Random(1)  # noqa: S311 - a fixed sequence


async def main() -> None:
    """Fill a database and print the table."""
    CALLER.set(Caller("benchmark", Identity("ada@uni.example", "uni", ("creator",))))
    with tempfile.TemporaryDirectory() as folder:
        async with open_database(f"sqlite:///{folder}/heddle.db") as database:
            await upgrade(database, SCHEMA)
            keys = Keys.of(["k" * 32])
            owners = Owners(keys)
            audit = await open_audit_log(database, keys)
            counting = Counting(Rows(database), audit.people)
            stored = ConversationServicer(database, owners, 365, counting)
            identifier = await _fill(database, owners, stored)
            search = pb.ListConversationsRequest(text="wordxyz heddle", page_size=20)
            turn = iter(range(_STORED))

            async def put() -> object:
                name = next(turn)
                response = pb.Response(
                    id=f"resp_{name}",
                    document_json="{}",
                    status="completed",
                    conversation=identifier,
                )
                items = [_item(f"msg_{name}_{role}", role) for role in ("user", "assistant")]
                return await stored.PutResponse(
                    pb.PutResponseRequest(response=response, input=items[:1], output=items[1:]),
                    _NO_CONTEXT,
                )

            context = pb.GetContextRequest(conversation=identifier)
            await _measure("context of a turn", lambda: stored.GetContext(context, _NO_CONTEXT))
            await _measure("store a turn", put, _STORED)
            await _measure(
                "search sealed words", lambda: stored.ListConversations(search, _NO_CONTEXT)
            )
            await _measure("search sealed texts", lambda: _search_texts(database, owners))


async def _fill(database: Database, owners: Owners, stored: ConversationServicer) -> str:
    """Store conversations; return one of them."""
    identifier = ""
    for number in range(_CONVERSATIONS):
        new = pb.CreateConversationRequest(conversation=pb.Conversation(title="Looms"))
        identifier = (await stored.CreateConversation(new, _NO_CONTEXT)).conversation.id
        items = [
            _item(f"i{number}_{turn}_{role}", role)
            for turn in range(_TURNS)
            for role in ("user", "assistant")
        ]
        documents = [json.loads(each.document_json) for each in items]
        async with writing(database, owners) as (connection, owner):
            row = await find(connection, owner, identifier)
            last = await add(connection, owner, Line(identifier, "", ""), items, now())
            await execute(connection, extended(owner, row, last, documents)[0])
    return identifier


def _item(identifier: str, role: str) -> pb.Item:
    text = " ".join(f"word{_RANDOM.randrange(_VOCABULARY)}" for _ in range(_WORDS))
    document = {"id": identifier, "type": "message", "role": role, "content": text}
    return pb.Item(id=identifier, document_json=json.dumps(document))


async def _search_texts(database: Database, owners: Owners) -> list[str]:
    terms = words_of("wordxyz heddle")
    table = conversation_items
    results = []
    async with database.reading() as connection:
        owner = await owners.find(connection)
        assert owner is not None  # noqa: S101 - it was filled
        for row in await connection.execute(
            select(table.c.id, table.c.body).where(owner.of(table))
        ):
            document = json.loads(owner.sealing.open(row.body, row.id))
            text = "".join(texts_of(document)).casefold()
            if all(each in text for each in terms):
                results.append(row.id)
    return results


async def _measure(name: str, work: Callable[[], Awaitable[object]], rounds: int = _ROUNDS) -> None:
    times = []
    for _ in range(rounds):
        begun, cpu = time.perf_counter(), time.process_time()
        await work()
        times.append((time.process_time() - cpu, time.perf_counter() - begun))
    cpu, wall = sorted(times)[rounds // 2]
    sys.stdout.write(f"{name:24}{cpu * 1000:10.1f} ms CPU{wall * 1000:10.1f} ms\n")


if __name__ == "__main__":
    asyncio.run(main())
