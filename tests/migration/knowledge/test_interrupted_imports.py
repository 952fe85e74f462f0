"""Imports of collections that end early, wherever that is, and go on."""

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest
from assistants.replicas import replica
from assistants.serving import ADMIN, SECRET
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_IMPORT
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.rpc.client import channel
from migration.knowledge.importing import (
    OF_KNOWLEDGE,
    Import,
    importing,
    knowledge_service,
    registered,
    shelved,
)
from migration.knowledge.lamb_kb_server import TOKEN, LambKbServer, lamb_kb_server
from migration.lamb.lamb_database import filled
from migration.lamb.running import Report
from pydantic import SecretStr
from runtime.examples import repetitions, sampled

REQUESTS = 9
"""Requests of an import of `shelved`: collections, two lists of files, four files, two texts."""
RESPONSES = 9


async def complete(folder: Path, kb: LambKbServer) -> list[object]:
    """Return what an import leaves that nothing interrupts."""
    folder.mkdir()  # noqa: ASYNC240 (a test)
    lamb = registered(filled(folder / "lamb_v4.db"))
    async with importing(folder, lamb, kb.url, TOKEN) as heddle:
        await heddle.run()
        return await heddle.state()


@pytest.mark.parametrize("number", sampled(range(REQUESTS), 2))
async def test_an_import_goes_on_after_a_request_that_the_server_refused(
    tmp_path: Path, number: int
) -> None:
    async with lamb_kb_server() as kb:
        expected = await complete(tmp_path / "whole", shelved(kb))
        kb.requests.clear()
        kb.fails_from = number
        lamb = registered(filled(tmp_path / "lamb_v4.db"))
        async with importing(tmp_path, lamb, kb.url, TOKEN) as heddle:
            first = await heddle.run()
            assert first.counts.get("kb_files") != (5, 5, 0, 0)
            kb.fails_from = None
            second = await heddle.run()
            assert await heddle.state() == expected
            assert second.counts["kb_files"][0] == 5
            assert second.counts["kb_files"][3] == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("responses", sampled(range(1, RESPONSES), 1))
async def test_an_import_that_is_stopped_goes_on_without_duplicates(
    tmp_path: Path, responses: int
) -> None:
    async with lamb_kb_server() as kb:
        expected = await complete(tmp_path / "whole", shelved(kb))
        lamb = registered(filled(tmp_path / "lamb_v4.db"))
        async with importing(tmp_path, lamb, kb.url, TOKEN) as heddle:
            await heddle.run(stop_after=responses)
            await heddle.run()
            assert await heddle.state() == expected


@pytest.mark.exhaustive
async def test_two_imports_at_once_copy_everything_once(tmp_path: Path) -> None:
    async with lamb_kb_server() as kb:
        expected = await complete(tmp_path / "whole", shelved(kb))
        lamb = registered(filled(tmp_path / "lamb_v4.db"))
        async with importing(tmp_path, lamb, kb.url, TOKEN) as heddle:
            await asyncio.gather(heddle.run(), heddle.run())
            await heddle.run()
            assert await heddle.state() == expected


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
async def test_an_import_goes_on_after_its_service_was_killed(tmp_path: Path) -> None:
    many = 60
    seed = random.randrange(10**6)  # noqa: S311 (a test's dice)
    dice = random.Random(seed)  # noqa: S311 (a test's dice)
    lamb = registered(filled(tmp_path / "lamb_v4.db"))
    async with AsyncExitStack() as exits:
        kb = shelved(await exits.enter_async_context(lamb_kb_server()))
        for number in range(many):
            kb.add_file(17, f"{number}.md", f"Light number {number}.".encode())
        expected = await complete(tmp_path / "whole", kb)
        (tmp_path / "killed").mkdir()
        address, store, embedder = await exits.enter_async_context(
            knowledge_service(tmp_path / "killed")
        )
        settings = {
            "HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path),
            "HEDDLE_MIGRATION_LAMB_KB_URL": kb.url,
            "HEDDLE_MIGRATION_LAMB_KB_TOKEN": TOKEN,
            "HEDDLE_KNOWLEDGE_ADDRESS": address,
        }
        url = f"sqlite:///{tmp_path}/heddle.db"
        request = pb.RunMigrationRequest(kind=JOB_KIND_IMPORT, knowledge=pb.KnowledgeImport())
        copied = 0
        for _ in range(max(2, repetitions(4))):
            async with replica(url, tmp_path / "log", **settings) as service:
                admin = service.as_(ADMIN)
                left = dice.randrange(1, 5)
                call = admin.migrations.RunMigration(request, timeout=60, metadata=admin.metadata())
                with pytest.raises(grpc.aio.AioRpcError):
                    async for response in call:
                        if response.table == "kb_files" and response.progress.changed:
                            copied += 1
                            left -= 1
                            if not left:
                                service.kill(service.migration_process)
        assert copied, f"seed {seed}"
        async with replica(url, tmp_path / "log", **settings) as service:
            report = Report()
            for response in await service.as_(ADMIN).all_of(
                service.as_(ADMIN).migrations.RunMigration, request
            ):
                report.add(response)
        total, changed, unchanged, refused = report.counts["kb_files"]
        assert (total, refused) == (many + 5, 0), f"seed {seed}"
        assert 0 < changed < total, f"seed {seed}"
        assert changed + unchanged == total
        to_knowledge = channel(address, *OF_KNOWLEDGE, secret=SecretStr(SECRET))
        knowledge = await exits.enter_async_context(to_knowledge)
        heddle = Import(knowledge, knowledge, store, embedder)
        assert await heddle.state() == expected, f"seed {seed}"
