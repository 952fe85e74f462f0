"""Who may delete pages, among replicas that share a place, and which pictures are left over."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from heddle_knowledge.pages.page_place import PagePlace
from heddle_knowledge.pages.shapes import DrawnPage
from knowledge.pages.conftest import COLLECTION, Address
from runtime.ports import free_port
from s3_server import S3Server

EVERYWHERE = pytest.mark.parametrize("address", ["folder", "objects"], indirect=True)
OBJECTS = pytest.mark.parametrize("address", ["objects"], indirect=True)
LOOM = "a" * 64
AT_ONCE = timedelta(seconds=-10)


async def opened(address: Address, stack: AsyncExitStack) -> PagePlace:
    """Open the place as one more replica."""
    return await stack.enter_async_context(address.opened())


async def put(place: PagePlace) -> None:
    """Store a document of one page."""
    pages = place.of(COLLECTION)
    await pages.expect(LOOM, "1", 1)
    await pages.add(LOOM, [DrawnPage(1, b"A picture.")], [np.empty((0, 0), np.float16)])


async def is_gone() -> bool:
    return True


async def is_there() -> bool:
    return False


@pytest.mark.exhaustive
@EVERYWHERE
async def test_pages_of_a_document_that_another_replica_ingests_are_not_deleted(
    address: Address,
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await opened(address, stack), await opened(address, stack)
        async with one.holding(COLLECTION, LOOM):
            await put(one)
            await other.forget_unheld(COLLECTION, LOOM, is_gone)
            assert await other.of(COLLECTION).numbers(LOOM) == [1]
        await other.forget_unheld(COLLECTION, LOOM, is_there)
        assert await other.of(COLLECTION).numbers(LOOM) == [1]
        await other.forget_unheld(COLLECTION, LOOM, is_gone)
        assert await one.of(COLLECTION).documents() == {}
    assert address.keys == []


@pytest.mark.exhaustive
@EVERYWHERE
async def test_two_replicas_that_ingest_the_same_document_take_turns(address: Address) -> None:
    turns: list[str] = []

    async def ingest(place: PagePlace) -> None:
        async with place.holding(COLLECTION, LOOM):
            turns.append("begins")
            await put(place)
            turns.append("ends")

    async with AsyncExitStack() as stack:
        places = [await opened(address, stack) for _ in range(3)]
        await asyncio.gather(*map(ingest, places))
    assert turns == ["begins", "ends"] * 3
    assert len(address.keys) == bool(address.server)


@OBJECTS
async def test_a_sweep_deletes_only_old_objects_that_no_page_has(address: Address) -> None:
    async with AsyncExitStack() as stack:
        place = await opened(address, stack)
        await put(place)
        (stored,) = address.keys
        assert address.objects
        key = f"pages/{COLLECTION}/{LOOM}/1-broken"
        await asyncio.to_thread(address.objects.put, key, b"Off.")

        await place.objects.sweep()
        assert len(address.keys) == 2
        await place.objects.sweep(AT_ONCE)
        assert address.keys == [stored]


@OBJECTS
async def test_pages_are_deleted_while_the_object_store_is_away_and_their_pictures_later(
    address: Address,
) -> None:
    away = replace(address, server=S3Server(f"http://127.0.0.1:{free_port()}"))
    async with AsyncExitStack() as stack:
        place, blind = await opened(address, stack), await opened(away, stack)
        await put(place)
        await blind.drop(COLLECTION)
        assert await place.of(COLLECTION).documents() == {}
        assert len(address.keys) == 1
        await place.objects.sweep(AT_ONCE)
    assert address.keys == []
