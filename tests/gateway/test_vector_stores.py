"""`/v1/vector_stores`, by the unmodified `openai` package in its strictest mode."""

import asyncio
from typing import Any

import openai
import pytest
from gateway.shelves import SHARED_LOOP, Shelves

TEXTS = {"sheds.md": "A shed is a gap between threads.", "reeds.md": "A reed spaces the threads."}

pytestmark = pytest.mark.asyncio(loop_scope=SHARED_LOOP)


@pytest.fixture
def shelf(shelves_of_new_people: Shelves) -> Shelves:
    return shelves_of_new_people


async def uploaded(shelf: Shelves, person: str = "ana") -> list[str]:
    files = shelf.openai[person].files
    return [
        (await files.create(file=(name, text.encode()), purpose="assistants")).id
        for name, text in TEXTS.items()
    ]


async def filled(shelf: Shelves, **options: Any) -> tuple[str, list[str]]:
    """Make a store of Ana's with both files, wait for them, and return all identifiers."""
    identifiers = await uploaded(shelf)
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms", file_ids=identifiers, **options)
    for each in identifiers:
        await stores.files.poll(each, vector_store_id=store.id, poll_interval_ms=20)
    return store.id, identifiers


async def test_a_store_is_made_filled_searched_and_deleted(shelf: Shelves) -> None:
    identifier, files = await filled(shelf, metadata={"course": "Weaving"})
    stores = shelf.openai["ana"].vector_stores
    store = await stores.retrieve(identifier)
    assert (store.name, store.metadata, store.status) == (
        "Looms",
        {"course": "Weaving"},
        "completed",
    )
    assert (store.file_counts.completed, store.file_counts.total) == (2, 2)
    assert store.usage_bytes == sum(map(len, TEXTS.values()))
    found = await stores.search(identifier, query="What is a shed?", max_num_results=1)
    [result] = found.data
    assert (result.file_id, result.filename) == (files[0], "sheds.md")
    assert result.content[0].text == TEXTS["sheds.md"]
    assert 0 < result.score <= 1
    assert (await stores.delete(identifier)).deleted
    with pytest.raises(openai.NotFoundError):
        await stores.retrieve(identifier)


async def test_stores_are_listed_page_by_page(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    made = [(await stores.create(name=name)).id for name in ("b", "a", "c", "a", "")]
    assert [each.id async for each in stores.list(limit=2)] == made[::-1]
    assert [each.id async for each in stores.list(limit=2, order="asc")] == made
    page = await stores.list(limit=2, order="asc", before=made[3])
    assert ([each.id for each in page.data], page.has_more) == (made[1:3], True)
    assert {collection.name for collection in (await shelf.store.collections.all()).values()}


async def test_a_list_is_told_while_stores_are_deleted(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    made = [(await stores.create(name=f"Shed {number}")).id for number in range(12)]

    async def listed() -> None:
        for _ in range(15):
            response = await shelf["ana"].get("/v1/vector_stores?limit=100")
            assert response.status_code == 200, response.text
            page = response.json()
            told = [each["id"] for each in page["data"]]
            assert set(told) <= set(made)
            ends = (told[0], told[-1]) if told else (None, None)
            assert (page["first_id"], page["last_id"]) == ends

    await asyncio.gather(listed(), *map(stores.delete, made))


async def test_a_store_changes_its_name_and_metadata(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    made = await stores.create(name="Looms", metadata={"a": "1"})
    assert (await stores.update(made.id, name="Reeds")).metadata == {"a": "1"}
    changed = await stores.update(made.id, metadata={"b": "2"})
    assert (changed.name, changed.metadata) == ("Reeds", {"b": "2"})
    assert await stores.retrieve(made.id) == changed


async def test_a_store_has_a_language_and_may_change_it(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    made = await stores.create(name="Looms")
    swedish = await stores.create(name="Vävstolar", extra_body={"language": "sv-SE"})
    changed = await stores.update(made.id, extra_body={"language": "de"})
    languages = [each.language for each in (made, swedish, changed)]
    assert languages == ["en", "sv", "de"]
    for attempt in (
        stores.create(extra_body={"language": "tlh"}),
        stores.update(made.id, extra_body={"language": "tlh"}),
    ):
        with pytest.raises(openai.BadRequestError, match=r"one of ar, .*'und'"):
            await attempt


async def test_anothers_store_is_not_there(shelf: Shelves) -> None:
    identifier, files = await filled(shelf)
    mine = (await uploaded(shelf, "eve"))[0]
    stores = shelf.openai["eve"].vector_stores
    for attempt in (
        stores.retrieve(identifier),
        stores.update(identifier, name="Mine"),
        stores.delete(identifier),
        stores.search(identifier, query="shed"),
        stores.files.list(identifier),
        stores.files.retrieve(files[0], vector_store_id=identifier),
        stores.files.create(identifier, file_id=mine),
        stores.files.delete(files[0], vector_store_id=identifier),
    ):
        with pytest.raises(openai.NotFoundError):
            await attempt
    assert [each async for each in stores.list()] == []
    own = await stores.create(name="Looms")
    with pytest.raises(openai.NotFoundError):
        await stores.files.create(own.id, file_id=files[0])
    with pytest.raises(openai.NotFoundError):
        await stores.create(name="Other", file_ids=[files[0]])
    assert [each.id async for each in stores.list()] == [own.id]


async def test_a_file_keeps_its_attributes_and_can_get_others(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms")
    files = await uploaded(shelf)
    noted: dict[str, str | float | bool] = {"course": "Weaving", "year": 2026, "open": True}
    made = await stores.files.create_and_poll(
        files[0], vector_store_id=store.id, attributes=noted, poll_interval_ms=20
    )
    assert (made.status, made.attributes, made.last_error) == ("completed", noted, None)
    changed = await stores.files.update(
        files[0], vector_store_id=store.id, attributes={"year": 2027}
    )
    assert changed.attributes == {"year": 2027}
    [result] = (await stores.search(store.id, query="shed")).data
    assert result.attributes == {"year": 2027}
    listed = [each.id async for each in stores.files.list(store.id, filter="completed")]
    assert listed == [files[0]]
    assert [each async for each in stores.files.list(store.id, filter="failed")] == []
    assert (await stores.files.delete(files[0], vector_store_id=store.id)).deleted
    assert (await stores.search(store.id, query="shed")).data == []
    assert (await shelf.openai["ana"].files.retrieve(files[0])).id == files[0]


async def test_a_file_that_cannot_be_read_says_why(shelf: Shelves) -> None:
    made = await shelf.openai["ana"].files.create(file=("a.pdf", b"none"), purpose="assistants")
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms")
    failed = await stores.files.create_and_poll(
        made.id, vector_store_id=store.id, poll_interval_ms=20
    )
    assert failed.status == "failed"
    assert failed.last_error is not None
    assert failed.last_error.code == "invalid_file"
    assert "PDF" in failed.last_error.message
    assert (await stores.retrieve(store.id)).file_counts.failed == 1


async def test_several_questions_find_each_passage_once(shelf: Shelves) -> None:
    identifier, files = await filled(shelf)
    stores = shelf.openai["ana"].vector_stores
    found = await stores.search(identifier, query=["shed", "reed", "shed"])
    assert sorted(each.file_id for each in found.data) == sorted(files)
    least = found.data[0].score - 1e-6
    some = await stores.search(
        identifier, query="shed", ranking_options={"score_threshold": least, "ranker": "auto"}
    )
    assert len(some.data) <= 1


FILTERS: list[tuple[Any, list[int]]] = [
    ({"type": "eq", "key": "year", "value": 2025}, [0]),
    ({"type": "gte", "key": "year", "value": 2025}, [0, 1]),
    ({"type": "eq", "key": "open", "value": True}, [1]),
    ({"type": "in", "key": "year", "value": [2026, 2027]}, [1]),
    ({"type": "ne", "key": "course", "value": "Weaving"}, [1]),
    (
        {
            "type": "and",
            "filters": [
                {"type": "lt", "key": "year", "value": 2026},
                {
                    "type": "or",
                    "filters": [
                        {"type": "eq", "key": "course", "value": "Weaving"},
                        {"type": "eq", "key": "course", "value": "Sewing"},
                    ],
                },
            ],
        },
        [0],
    ),
]


async def test_a_page_of_the_web_is_read_in_place_of_a_file(shelf: Shelves) -> None:
    [page, _] = await uploaded(shelf)
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Pages")
    with pytest.raises(openai.BadRequestError):
        await stores.files.create(store.id, file_id=page, extra_body={"url": "ftp://x/y"})
    # Private networks are out of reach, so the file's own text would be the only way to succeed.
    body = {"url": "http://127.0.0.1:9/syllabus"}
    await stores.files.create(store.id, file_id=page, extra_body=body)
    file = await stores.files.poll(page, vector_store_id=store.id, poll_interval_ms=20)
    assert file.status == "failed"
    assert file.last_error is not None
    assert "private network" in file.last_error.message


async def test_filters_compare_the_attributes_of_files(shelf: Shelves) -> None:
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms")
    files = await uploaded(shelf)
    noted: list[dict[str, str | float | bool]] = [
        {"year": 2025, "course": "Weaving"},
        {"year": 2026, "open": True},
    ]
    for file, attributes in zip(files, noted, strict=True):
        await stores.files.create_and_poll(
            file, vector_store_id=store.id, attributes=attributes, poll_interval_ms=20
        )
    for filters, expected in FILTERS:
        found = await stores.search(store.id, query="threads", filters=filters)
        matches = sorted(each.file_id for each in found.data)
        assert matches == sorted(files[n] for n in expected), filters


async def test_the_text_of_a_file_comes_back(shelf: Shelves) -> None:
    identifier, files = await filled(shelf)
    stores = shelf.openai["ana"].vector_stores
    told = await stores.files.content(files[0], vector_store_id=identifier)
    assert [each.text for each in told.data] == [TEXTS["sheds.md"]]
    with pytest.raises(openai.NotFoundError):
        await shelf.openai["eve"].vector_stores.files.content(files[0], vector_store_id=identifier)


async def test_a_document_that_came_another_way_is_found_by_its_identifier(
    shelf: Shelves,
) -> None:
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms")
    [_ async for _ in shelf.store.documents.ingest(store.id[3:], "guide.md", b"A shed.")]
    [result] = (await stores.search(store.id, query="shed")).data
    assert result.filename == "guide.md"
    found = await stores.files.retrieve(result.file_id, vector_store_id=store.id)
    assert (found.id, found.status, found.usage_bytes) == (result.file_id, "completed", 7)
    await stores.files.delete(result.file_id, vector_store_id=store.id)
    assert (await stores.search(store.id, query="shed")).data == []


async def test_a_store_cuts_its_files_as_it_was_made(shelf: Shelves) -> None:
    static: Any = {
        "type": "static",
        "static": {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400},
    }
    stores = shelf.openai["ana"].vector_stores
    store = await stores.create(name="Looms", chunking_strategy=static)
    record = await shelf.store.collections.get(store.id[3:])
    assert (record.chunking.target, record.chunking.overlap) == (3_200, 1_599)
    [first, second] = await uploaded(shelf)
    made = await stores.files.create(store.id, file_id=first, chunking_strategy=static)
    assert made.to_dict()["chunking_strategy"] == static
    other = {"type": "static", "static": {**static["static"], "max_chunk_size_tokens": 900}}
    with pytest.raises(openai.BadRequestError, match="cut alike"):
        await stores.files.create(store.id, file_id=second, chunking_strategy=other)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"expires_after": {"anchor": "last_active_at", "days": 1}}, "expires_after"),
        ({"nmae": "Looms"}, "nmae"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"file_ids": ["x"] * 101}, "file_ids"),
        ({"chunking_strategy": {"type": "semantic"}}, "chunking_strategy.type"),
        (
            {
                "chunking_strategy": {
                    "type": "static",
                    "static": {"max_chunk_size_tokens": 4096, "chunk_overlap_tokens": 0},
                }
            },
            "chunking_strategy.static.max_chunk_size_tokens",
        ),
    ],
)
async def test_a_store_that_cannot_be_is_refused(
    shelf: Shelves, body: dict[str, Any], param: str
) -> None:
    response = await shelf["ana"].post("/v1/vector_stores", json=body)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param
    assert (await shelf["ana"].get("/v1/vector_stores")).json()["data"] == []


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "query"),
        ({"query": []}, "query"),
        ({"query": "?", "rewrite_query": True}, "rewrite_query"),
        ({"query": "?", "max_num_results": 51}, "max_num_results"),
        ({"query": "?", "ranking_options": {"ranker": "best"}}, "ranking_options.ranker"),
        (
            {"query": "?", "ranking_options": {"score_threshold": 2}},
            "ranking_options.score_threshold",
        ),
        ({"query": "?", "filters": {"type": "like", "key": "a"}}, "filters.type"),
    ],
)
async def test_a_search_that_cannot_be_is_refused(
    shelf: Shelves, body: dict[str, Any], param: str
) -> None:
    response = await shelf["ana"].post("/v1/vector_stores/vs_x/search", json=body)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param
