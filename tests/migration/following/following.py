"""A LAMB database that Heddle follows, with what tests do on both sides."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistants.serving import ADMIN, Caller, Service, serving
from heddle.assistant.v1 import (
    assistant_pb2,
    following_pb2,
    following_pb2_grpc,
    versions_pb2,
    versions_pb2_grpc,
)
from heddle.migration.v1 import record_pb2
from heddle_assistants.database.schema import assistants, followed_rows
from heddle_runtime.storage.database.engine import Database, open_database
from migration.lamb.lamb_database import TODAY, Lamb
from migration.lamb.running import rows
from sqlalchemy import Table, func, select

PAUSE = 0.03
"""Seconds between two looks at what Heddle has stored."""
METADATA: dict[str, Any] = {
    "prompt_processor": "simple_augment",
    "connector": "openai",
    "llm": "gpt-4o-mini",
    "rag_processor": "simple_rag",
    "file_path": "",
}
TUTOR = {
    "id": 3,
    "name": "1_tutor",
    "system_prompt": "Be brief.",
    "prompt_template": "{context} {user_input}",
    "RAG_Top_k": 3,
    "RAG_collections": "1,2",
    "api_callback": json.dumps(METADATA),
}


@dataclass
class Followed:
    """Both sides."""

    lamb: Lamb
    database: Database
    admin: Caller

    def edit(self, table: str, identifier: int, **columns: Any) -> None:
        """Change a row as LAMB does, which leaves `updated_at` as it is."""
        names = ", ".join(f'"{name}" = ?' for name in columns)
        key = "assistant_id" if table == "assistant_publish" else "id"
        self.execute(
            f'UPDATE "LAMB_{table}" SET {names} WHERE {key} = ?',  # noqa: S608 - a test's names
            *columns.values(),
            identifier,
        )

    def execute(self, statement: str, *values: Any) -> None:
        """Run a statement in LAMB's database."""
        with self.lamb.open() as connection:
            connection.execute(statement, values)
            connection.commit()

    async def stored(self, table: Table = assistants) -> dict[int, dict[str, Any]]:
        """Return the rows of a table of Heddle by their ids."""
        return await rows(self.database, table)

    async def until(
        self,
        holds: Callable[[dict[int, dict[str, Any]]], object],
        table: Table = assistants,
        seconds: float = 30,
    ) -> float:
        """Wait until the rows of a table fulfil a condition; return how long that took."""
        began = time.monotonic()
        while True:
            records = await self.stored(table)
            if holds(records):
                return time.monotonic() - began
            assert time.monotonic() < began + seconds, records
            await asyncio.sleep(PAUSE)

    async def until_column(self, identifier: int, column: str, value: object) -> float:
        """Wait until an assistant has a value."""
        return await self.until(lambda records: records.get(identifier, {}).get(column) == value)

    async def until_followed(self, table: str, count: int) -> None:
        """Wait until Heddle has stored how many rows of a table it follows."""
        async with asyncio.timeout(30):
            while await self._followed(table) < count:
                await asyncio.sleep(PAUSE)

    async def _followed(self, table: str) -> int:
        async with self.database.reading() as connection:
            query = select(func.count()).select_from(followed_rows)
            return await connection.scalar(query.where(followed_rows.c.source == table)) or 0

    async def assistant(self, identifier: int) -> assistant_pb2.Assistant:
        """Return an assistant as the service does."""
        request = assistant_pb2.GetAssistantRequest(reference=str(identifier))
        return (await self.admin.ask(self.admin.assistants.GetAssistant, request)).assistant

    async def change(self, identifier: int, **columns: Any) -> None:
        """Edit an assistant in Heddle."""
        record = record_pb2.Record(**columns)
        request = record_pb2.UpdateRecordRequest(id=str(identifier), record=record)
        await self.admin.ask(self.admin.records.UpdateRecord, request)

    async def add_tool(self, identifier: int, kind: str = "calculator") -> None:
        """Add a tool to an assistant in Heddle."""
        request = record_pb2.GetRecordRequest(id=str(identifier))
        record = (await self.admin.ask(self.admin.records.GetRecord, request)).record
        tools = [*json.loads(record.metadata_json)["tools"], {"type": kind, "mode": "function"}]
        await self.change(identifier, metadata_json=json.dumps({"tools": tools}))

    async def versions(self, identifier: int) -> list[versions_pb2.AssistantVersion]:
        """Return the versions of an assistant, the newest first."""
        stub = versions_pb2_grpc.VersionServiceStub(self.admin.connection)
        request = versions_pb2.ListVersionsRequest(id=str(identifier))
        return list((await self.admin.ask(stub.ListVersions, request)).versions)

    async def status(self) -> following_pb2.GetFollowingResponse:
        """Return the state of the following."""
        stub = following_pb2_grpc.FollowingServiceStub(self.admin.connection)
        return await self.admin.ask(stub.GetFollowing, following_pb2.GetFollowingRequest())


def small_lamb(path: Path, tables: dict[str, str] = TODAY) -> Lamb:
    """Make a LAMB database with an organisation, a user and an assistant."""
    lamb = Lamb(path).make(tables)
    lamb.add("organizations", {"id": 1, "slug": "lamb", "name": "LAMB", "is_system": 1})
    lamb.add(
        "Creator_users",
        {"id": 1, "user_email": "ana@example.org", "user_name": "Ana"},
        {"id": 2, "user_email": "bo@example.org", "user_name": "Bo"},
    )
    lamb.add("assistants", TUTOR)
    return lamb


@asynccontextmanager
async def following(database_url: str, lamb: Lamb) -> AsyncGenerator[Followed]:
    """Let Heddle follow a LAMB that runs, which has its database open."""
    with lamb.open() as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        async with (
            open_database(database_url) as database,
            serving(database_url, followed=lamb.path) as service,
        ):
            yield both_sides(lamb, database, service)


def both_sides(lamb: Lamb, database: Database, service: Service) -> Followed:
    """Return both sides."""
    return Followed(lamb, database, service.as_(ADMIN))
