"""`/v1/vector_stores/{id}/file_batches`, by the unmodified `openai` package."""

from typing import Any

import openai
import pytest
from gateway.shelves import SHARED_LOOP, Shelves

NOTES = {
    f"note-{n}.md": f"Note {n} tells of the {word}." for n, word in enumerate(("shed", "reed"))
}

pytestmark = pytest.mark.asyncio(loop_scope=SHARED_LOOP)


@pytest.fixture
def shelf(shelves_of_new_people: Shelves) -> Shelves:
    return shelves_of_new_people


async def uploaded(shelf: Shelves, person: str = "ana") -> list[str]:
    files = shelf.openai[person].files
    return [
        (await files.create(file=(name, text.encode()), purpose="assistants")).id
        for name, text in NOTES.items()
    ]


async def test_a_batch_is_made_polled_and_searched(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms")
    files = await uploaded(shelf)
    batch = await stores.file_batches.create_and_poll(
        store.id, file_ids=files, attributes={"course": "Weaving"}, poll_interval_ms=20
    )
    assert (batch.status, batch.vector_store_id) == ("completed", store.id)
    assert batch.file_counts.to_dict() == {
        "in_progress": 0,
        "completed": 2,
        "failed": 0,
        "cancelled": 0,
        "total": 2,
    }
    assert await stores.file_batches.retrieve(batch.id, vector_store_id=store.id) == batch
    listed = [
        each
        async for each in stores.file_batches.list_files(
            batch.id, vector_store_id=store.id, limit=1, order="asc"
        )
    ]
    assert [each.id for each in listed] == files
    assert [each.attributes for each in listed] == [{"course": "Weaving"}] * 2
    [result] = (await stores.search(store.id, query="reed", max_num_results=1)).data
    assert (result.file_id, result.attributes) == (files[1], {"course": "Weaving"})
    # What has ended cannot be cancelled any more.
    assert await stores.file_batches.cancel(batch.id, vector_store_id=store.id) == batch


async def test_files_are_uploaded_as_a_batch(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms")
    batch = await stores.file_batches.upload_and_poll(
        store.id,
        files=[(name, text.encode()) for name, text in NOTES.items()],
        poll_interval_ms=20,
    )
    assert (batch.status, batch.file_counts.completed) == ("completed", 2)
    found = await stores.search(store.id, query="note")
    assert {each.filename for each in found.data} == set(NOTES)


async def test_each_file_has_attributes_of_its_own(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms")
    files = await uploaded(shelf)
    batch = await stores.file_batches.create_and_poll(
        store.id,
        files=[{"file_id": files[0], "attributes": {"year": 2026}}, {"file_id": files[1]}],
        poll_interval_ms=20,
    )
    page = await stores.file_batches.list_files(batch.id, vector_store_id=store.id)
    assert {each.id: each.attributes for each in page.data} == {
        files[0]: {"year": 2026},
        files[1]: {},
    }


async def test_a_batch_tells_which_files_could_not_be_read(shelf: Shelves) -> None:
    client = shelf.openai["ana"]
    broken = await client.files.create(file=("a.pdf", b"none"), purpose="assistants")
    store = await client.vector_stores.create(name="Looms")
    batches = client.vector_stores.file_batches
    good = (await uploaded(shelf))[0]
    batch = await batches.create_and_poll(store.id, file_ids=[broken.id, good], poll_interval_ms=20)
    assert (batch.status, batch.file_counts.failed) == ("completed", 1)
    [failed] = (await batches.list_files(batch.id, vector_store_id=store.id, filter="failed")).data
    assert failed.id == broken.id
    assert failed.last_error is not None
    assert failed.last_error.code == "invalid_file"
    batch = await batches.create_and_poll(store.id, file_ids=[broken.id], poll_interval_ms=20)
    assert batch.status == "failed"


async def test_anothers_batch_is_not_there(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms")
    files = await uploaded(shelf)
    batch = await stores.file_batches.create(store.id, file_ids=files)
    eves = shelf.openai["eve"].vector_stores
    own = await eves.create(name="Hers")
    for attempt in (
        eves.file_batches.retrieve(batch.id, vector_store_id=store.id),
        eves.file_batches.retrieve(batch.id, vector_store_id=own.id),
        eves.file_batches.cancel(batch.id, vector_store_id=store.id),
        eves.file_batches.create(store.id, file_ids=await uploaded(shelf, "eve")),
        eves.file_batches.create(own.id, file_ids=files),
    ):
        with pytest.raises(openai.NotFoundError):
            await attempt
    with pytest.raises(openai.NotFoundError):
        await eves.file_batches.list_files(batch.id, vector_store_id=store.id)
    assert [each async for each in eves.files.list(own.id)] == []


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "file_ids"),
        ({"file_ids": ["file-x"], "files": [{"file_id": "file-x"}]}, "file_ids"),
        ({"file_ids": []}, "file_ids"),
        ({"file_ids": ["file-x"] * 2_001}, "file_ids"),
        ({"file_ids": [True]}, "file_ids[0]"),
        ({"files": [{"file_id": "file-x"}, {}]}, "files[1].file_id"),
        ({"files": [{"file_id": "file-x", "name": "a"}]}, "files[0].name"),
        ({"file_ids": ["file-x"], "expires": 1}, "expires"),
    ],
)
async def test_a_batch_that_cannot_be_is_refused(
    shelf: Shelves, body: dict[str, Any], param: str
) -> None:
    store = await shelf.openai["ana"].vector_stores.create(name="Looms")
    response = await shelf["ana"].post(f"/v1/vector_stores/{store.id}/file_batches", json=body)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param
