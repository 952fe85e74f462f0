"""Collections with the identifiers that LAMB's servers gave them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import files_pb2
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import (
    AlreadyExistsError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import ADMIN, Identity
from knowledge.uploads.desk import PEOPLE, Desk, serving

LAMBS = {"collection_id": "7", "shares": "registry"}


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setitem(PEOPLE, "import", Identity("ana@uni.example", "uni", (ADMIN,)))
    elsewhere = Identity("ana@uni.example", "college", (ADMIN,))
    monkeypatch.setitem(PEOPLE, "import elsewhere", elsewhere)
    async with serving(tmp_path) as running:
        yield running


async def created(desk: Desk, person: str, name: str, **settings: str) -> pb.Collection:
    collection = pb.Collection(name=name, settings=settings)
    response = await desk(person, "CreateCollection", collection=collection)
    return response.collection  # type: ignore[no-any-return] # of any method


async def meant(desk: Desk, person: str, reference: str) -> Any:
    """Return the name of the collection that a person means, or the type of the error."""
    try:
        return (await desk(person, "GetCollection", name=reference)).collection.name
    except HeddleError as error:
        return type(error)


async def test_a_collection_is_named_by_the_identifier_that_it_had(desk: Desk) -> None:
    collection = await created(desk, "import", "optics", **LAMBS)
    assert (collection.owner, collection.organization) == ("ana@uni.example", "uni")
    for person in ("ana", "head", "root"):
        assert await meant(desk, person, "7") == "optics"
    for person in ("ben", "twin"):
        assert await meant(desk, person, "7") is NotFoundError


async def test_the_identifier_precedes_names(desk: Desk) -> None:
    await created(desk, "ana", "7")
    assert await meant(desk, "ana", "7") == "7"
    await created(desk, "import", "optics", **LAMBS)
    assert await meant(desk, "ana", "7") == "optics"
    await created(desk, "twin", "7")
    assert await meant(desk, "twin", "7") == "7"
    assert await meant(desk, "root", "7") == "optics"


async def test_one_number_of_two_servers_means_nothing_to_callers_of_neither(desk: Desk) -> None:
    await created(desk, "import", "optics", **LAMBS)
    await created(desk, "import elsewhere", "looms", **LAMBS)
    assert await meant(desk, "ana", "7") == "optics"
    assert await meant(desk, "twin", "7") == "looms"
    assert await meant(desk, "root", "7") is NotFoundError


async def test_an_organisation_has_one_collection_with_an_identifier(desk: Desk) -> None:
    await created(desk, "import", "optics", **LAMBS)
    with pytest.raises(AlreadyExistsError):
        await created(desk, "import", "lenses", **LAMBS)


async def test_only_callers_who_may_do_everything_set_an_identifier(desk: Desk) -> None:
    for person in ("ana", "head"):
        with pytest.raises(PermissionDeniedError):
            await created(desk, person, "optics", **LAMBS)
    await created(desk, "ana", "optics", shares="registry")


@pytest.mark.parametrize("settings", [{"shares": "all"}, {"server": "x"}])
async def test_other_settings_are_refused(desk: Desk, settings: dict[str, str]) -> None:
    with pytest.raises(InvalidRequestError):
        await created(desk, "ana", "optics", **settings)


async def test_a_cancelled_file_is_ingested_again(desk: Desk) -> None:
    fields = await desk.held_up()
    await desk("ana", "CancelAttachedFile", **fields)
    desk.embedder.may.set()
    again = (await desk("head", "RetryAttachedFile", **fields)).file
    assert again.status == files_pb2.ATTACHMENT_STATUS_IN_PROGRESS
    done = await desk.done("looms", fields["file_id"])
    assert done.status == files_pb2.ATTACHMENT_STATUS_COMPLETED
    assert done.create_time.ToMicroseconds() <= done.start_time.ToMicroseconds()
    assert done.start_time.ToMicroseconds() < done.end_time.ToMicroseconds()
    assert (await desk("ana", "RetryAttachedFile", **fields)).file == done
