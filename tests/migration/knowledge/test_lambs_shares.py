"""Collections that LAMB's registry shares with the members of an organisation."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_assistants.database.schema import knowledge_bases
from heddle_runtime.storage.database.engine import open_database
from migration.knowledge.importing import ANA, BO, CY, Import, importing, shelved
from migration.knowledge.lamb_kb_server import TOKEN, lamb_kb_server
from migration.lamb.lamb_database import Lamb, filled
from sqlalchemy import update

NOT_FOUND = grpc.StatusCode.NOT_FOUND.value[0]


@pytest.fixture
async def heddle(tmp_path: Path) -> AsyncIterator[Import]:
    """Services with a collection of Bo's that LAMB shares."""
    lamb: Lamb = filled(tmp_path / "lamb_v4.db")
    with lamb.open() as connection:
        connection.execute("UPDATE LAMB_kb_registry SET is_shared = 1 WHERE kb_id = '17'")
        connection.commit()
    async with lamb_kb_server() as kb:
        shelved(kb)
        async with importing(tmp_path, lamb, kb.url, TOKEN) as services:
            await services.run()
            yield services


async def test_members_of_the_organisation_search_and_read_it(heddle: Import) -> None:
    texts = await heddle.search(CY, "17", "a lens bends light")
    assert isinstance(texts, list)
    assert texts[0] == "A lens bends light."
    request = files_pb2.ListAttachedFilesRequest(collection="17")
    files = (await heddle.ask(CY, "ListAttachedFiles", request)).files
    content = files_pb2.GetFileContentRequest(collection="17", id=files[0].file_id)
    assert (await heddle.ask(CY, "GetFileContent", content)).data
    assert await heddle.search(ANA, "17", "lens") == NOT_FOUND


async def test_members_cannot_change_it(heddle: Import) -> None:
    request = knowledge_pb2.DeleteCollectionRequest(name="17")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await heddle.ask(CY, "DeleteCollection", request)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.exhaustive
async def test_it_ends_when_lamb_no_longer_shares_it(heddle: Import, tmp_path: Path) -> None:
    assert isinstance(await heddle.search(CY, "17", "lens"), list)
    async with (
        open_database(f"sqlite:///{tmp_path}/heddle.db") as database,
        database.writing() as connection,
    ):  # as following a LAMB does
        await connection.execute(update(knowledge_bases).values(is_shared=False))

    async with asyncio.timeout(30):
        while await heddle.search(CY, "17", "lens") != NOT_FOUND:  # cached for some seconds
            await asyncio.sleep(0.05)
    assert isinstance(await heddle.search(BO, "17", "lens"), list)


@pytest.mark.exhaustive
async def test_what_its_owner_chooses_in_heddle_replaces_what_lamb_says(heddle: Import) -> None:
    private = knowledge_pb2.UpdateCollectionRequest(
        name="17", sharing=knowledge_pb2.SHARING_PRIVATE
    )
    await heddle.ask(BO, "UpdateCollection", private)
    assert await heddle.search(CY, "17", "lens") == NOT_FOUND
    shared = knowledge_pb2.UpdateCollectionRequest(
        name="17", sharing=knowledge_pb2.SHARING_ORGANIZATION
    )
    await heddle.ask(BO, "UpdateCollection", shared)
    assert isinstance(await heddle.search(CY, "17", "lens"), list)
