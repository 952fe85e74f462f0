"""The real service that keeps the assistants, and what it keeps."""

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from assistants.both_services import both_services
from cli.serving import in_thread
from heddle_assistants.app import AssistantsSettings
from heddle_assistants.database.schema import assistants, organizations
from heddle_runtime.storage.database.engine import open_database
from integration.processes import Processes
from new_databases import database_in
from runtime.ports import free_port
from sqlalchemy import insert, select, text, update

MODULE, MIGRATION = "heddle_assistants", "heddle_migration_service"
GOLDEN = Path(__file__).parents[1] / "golden" / "migration"
BROKEN = "14_not_json"
SIMPLE = '{"connector": "openai", "llm": "gpt-4", "rag_processor": "no_rag"}'


@dataclass
class AssistantDatabase:
    """A database, and a folder for what belongs to it."""

    folder: Path

    @property
    def url(self) -> str:
        return database_in(self.folder)

    @contextmanager
    def served(self, **settings: object) -> Iterator[str]:
        """Run the service in a thread; yield its address."""
        lamb = settings.pop("lamb_database", None)
        chosen = AssistantsSettings.model_validate(
            {
                "listen": "127.0.0.1:0",
                "drain_wait": 0,
                "database": self.url,
                "assistants_dir": self.folder,
                **settings,
            }
        )
        with in_thread(both_services(chosen, cast("Path | None", lamb)), chosen) as address:
            yield address

    @contextmanager
    def process(self) -> Iterator[Processes]:
        """Yield the service as a process, for a test to kill."""
        ports = {module: free_port() for module in (MODULE, MIGRATION)}
        at = {module: f"127.0.0.1:{port}" for module, port in ports.items()}
        settings = {
            "HEDDLE_ASSISTANTS_LISTEN": at[MODULE],
            "HEDDLE_ASSISTANTS_ADDRESS": at[MODULE],
            "HEDDLE_ASSISTANTS_DATABASE": self.url,
            "HEDDLE_ASSISTANTS_DIR": str(self.folder),
            "HEDDLE_MIGRATION_LISTEN": at[MIGRATION],
        }
        found = Processes(self.folder, settings, ports)
        try:
            for module in ports:
                found.start(module)
            for module in ports:
                found.wait_until_ready(module)
            yield found
        finally:
            for process in found.running.values():
                process.kill()
                process.wait()

    def documents(self) -> dict[int, str | None]:
        """Return what is kept of the assistants, by id."""

        async def read() -> dict[int, str | None]:
            async with open_database(self.url) as database, database.reading() as connection:
                query = select(assistants.c.id, assistants.c.metadata)
                return {row[0]: row[1] for row in await connection.execute(query)}

        return asyncio.run(read())

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Keep assistants."""
        usual = {"organization_id": 1, "owner": "o", "created_at": 1, "updated_at": 1}

        async def write() -> None:
            async with (
                open_database(self.url) as database,
                database.writing() as connection,
            ):
                if not await connection.scalar(select(organizations.c.id)):
                    values = {"slug": "uni", "name": "U", "created_at": 1, "updated_at": 1}
                    await connection.execute(insert(organizations).values(id=1, **values))
                await connection.execute(insert(assistants), [usual | row for row in rows])

        asyncio.run(write())

    def execute(self, statement: str) -> None:
        """Change the database behind the service's back."""

        async def write() -> None:
            async with open_database(self.url) as database, database.writing() as connection:
                await connection.execute(text(statement))

        asyncio.run(write())

    def edit(self, identifier: int, metadata: str) -> None:
        """Change an assistant as its owner would."""

        async def write() -> None:
            async with open_database(self.url) as database, database.writing() as connection:
                chosen = update(assistants).where(assistants.c.id == identifier)
                await connection.execute(chosen.values(metadata=metadata))

        asyncio.run(write())


def legacy_rows() -> list[dict[str, Any]]:
    """Return the assistants of the golden files: ids from 1, names as of their files."""
    names = sorted(path.name.removesuffix(".legacy.json") for path in GOLDEN.glob("*.legacy.json"))
    return [_row(number, name) for number, name in enumerate(names, start=1)]


def _row(number: int, name: str) -> dict[str, Any]:
    row = json.loads((GOLDEN / f"{name}.legacy.json").read_text())
    stored = row["api_callback"]
    return {
        "id": number,
        "name": name,
        "metadata": json.dumps(stored) if isinstance(stored, dict) else stored,
        "rag_top_k": row["RAG_Top_k"],
        "rag_collections": row["RAG_collections"],
    }
