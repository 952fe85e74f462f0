"""Assistants of a folder beside those of the database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from assistants.serving import ADA, ADMIN, MODEL, Service, serving
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_assistants.catalog.folder import FolderAssistants
from heddle_assistants.catalog.folder_checks import FolderChecks
from heddle_assistants.other_services import OtherServices
from heddle_assistants.validation import Validation
from heddle_runtime.errors import AlreadyExistsError, NotFoundError, PermissionDeniedError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from structlog.testing import capture_logs

DOCUMENT = "model: {connector: local, model: m}\n"
VALIDATION = Validation(OtherServices(), ServiceCredentials("assistants"))
CHECKS = FolderChecks(VALIDATION)
EVE = Identity("eve@college.example", "college", ("creator",))


def write(folder: Path, identifier: str, more: str = "") -> None:
    text = f"id: '{identifier}'\nname: from_{identifier}\n{DOCUMENT}{more}"
    (folder / f"{identifier}.yaml").write_text(text)


@pytest.fixture
async def beside(database_url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service with three assistants in its folder."""
    folder = tmp_path / "assistants"
    folder.mkdir()
    write(folder, "2")
    write(folder, "guide", "organization: uni\nmax_tool_rounds: 20\n")
    write(folder, "hidden", "published: false\nowner: eve@college.example\n")
    async with serving(database_url, folder=folder) as service:
        yield service


async def test_they_are_found_by_id_and_by_name(beside: Service) -> None:
    ada = beside.as_(ADA)
    references = ("2", "lamb_assistant.2", "lamb_assistant.file-2", "from_2", "LAMB:from_2")
    for reference in (*references, "guide", "file-guide"):
        response = await ada.get(reference)
        assert (response.published, response.read_only) == (True, True)
        assert (await beside.as_(ADMIN).get(reference)).assistant.model.connector == "local"
    assert (await beside.as_(ADMIN).get("guide")).assistant.max_tool_rounds == 20
    assert (await beside.as_(EVE).get("hidden")).assistant.owner == EVE.subject
    for caller, reference in ((beside.as_(EVE), "guide"), (ada, "hidden"), (ada, "from_hidden")):
        with pytest.raises(NotFoundError):
            await caller.get(reference)


async def test_a_list_has_both_numbers_first(beside: Service) -> None:
    ada = beside.as_(ADA)
    for name in ("a", "b", "c"):
        await ada.create(name, published=True)
    found: list[str] = []
    request = pb.ListAssistantsRequest(page_size=2)
    while not found or request.page_token:
        page = await ada.ask(ada.assistants.ListAssistants, request)
        found += [each.id for each in page.assistants]
        request.page_token = page.next_page_token
    # No new assistant got the number in a file.
    assert found == ["1", "3", "4", "file-2", "file-guide"]
    assert [each.name for each in await ada.listed(text="FROM")] == ["from_2", "from_guide"]
    own = await beside.as_(EVE).listed(selection=pb.SELECTION_OWN)
    assert [each.id for each in own] == ["file-hidden"]
    assert await beside.as_(EVE).listed(selection=pb.SELECTION_MANAGED) == []


@pytest.mark.parametrize(
    "more",
    [
        "tools: [{type: clock, timeout: .inf}]",
        "tools: [{type: clock, config: {by_number: {1: x}}}]",
        "tools: [{type: clock, config: {since: 2024-01-01}}]",
        "tools: [{type: clock, config: &all {again: *all}}]",
        "example: sometimes",
        "title: " + "[" * 3000,
    ],
    ids=["endless", "number as a name", "date", "itself", "example", "deep"],
)
async def test_what_is_wrong_in_a_file_is_reported_and_left_out(tmp_path: Path, more: str) -> None:
    write(tmp_path, "good")
    write(tmp_path, "bad", more)
    (tmp_path / ".#good.yaml").symlink_to("emacs@host.1")  # while somebody edits it
    with capture_logs() as logs:
        contents = await FolderAssistants(tmp_path, CHECKS).contents()
    # Without the member that cannot be read, if the file is YAML at all.
    assert contents.by_id.keys() == (
        {"file-good"} if more.startswith("title") else {"file-good", "file-bad"}
    )
    assert {each["file"] for each in logs} == {"bad.yaml", ".#good.yaml"}


async def test_nobody_changes_them_here(beside: Service) -> None:
    ada = beside.as_(ADA)
    calls = [
        ada.update(pb.Assistant(id="2", name="from_2", model=MODEL)),
        ada.edit("2", description="x"),
        ada.ask(ada.assistants.DeleteAssistant, pb.DeleteAssistantRequest(id="2")),
        ada.ask(ada.assistants.PublishAssistant, pb.PublishAssistantRequest(id="2")),
    ]
    for call in calls:
        with pytest.raises(PermissionDeniedError, match="'2' comes from a file"):
            await call
    with pytest.raises(AlreadyExistsError, match="A file holds"):
        await ada.create("from_2")
    with pytest.raises(NotFoundError):
        await ada.edit("hidden", description="x")
    await ada.create("from_hidden")  # of which she cannot know


async def test_nobody_takes_their_names_by_an_edit_either(beside: Service) -> None:
    ada = beside.as_(ADA)
    made = (await ada.create("own")).assistant
    changed = pb.Assistant()
    changed.CopyFrom(made)
    changed.name = "from_2"
    for call in (ada.update(changed), ada.edit(made.id, name="from_2")):
        with pytest.raises(AlreadyExistsError, match="A file holds"):
            await call
    await ada.edit(made.id, name="from_hidden")  # of which she cannot know


async def test_none_hides_another_of_the_database(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, folder=tmp_path / "none") as service:
        await service.as_(ADA).create("kept", published=True)
        await service.as_(ADA).create("from_1", published=True)
    folder = tmp_path / "assistants"
    folder.mkdir()
    write(folder, "1")
    async with serving(database_url, folder=folder) as service:
        ada = service.as_(ADA)
        for reference in ("1", "lamb_assistant.1"):
            assert (await ada.get(reference)).assistant.name == "kept"
        assert (await ada.get("from_1")).assistant.id == "2"
        for reference in ("file-1", "lamb_assistant.file-1"):
            assert (await ada.get(reference)).assistant.name == "from_1"
        assert [each.id for each in await ada.listed()] == ["1", "2", "file-1"]
        assert (await ada.record("1")).record.name == "kept"
        await ada.edit("1", description="x")
        assert (await ada.record("1")).record.description == "x"
        with pytest.raises(NotFoundError):  # also for those who may not use the row
            await service.as_(EVE).get("1")


async def test_the_identifier_in_a_file_may_begin_with_the_prefix(tmp_path: Path) -> None:
    write(tmp_path, "file-guide")

    assert (await FolderAssistants(tmp_path, CHECKS).contents()).by_id.keys() == {"file-guide"}


async def test_lamb_s_clients_see_them_too(beside: Service) -> None:
    assert not (await beside.as_(ADA).record("2")).record.HasField("metadata_json")
    record = (await beside.as_(ADMIN).record("2")).record
    assert (record.name, record.published) == ("from_2", True)
    assert '"rag_processor": "no_rag"' in record.metadata_json
    with pytest.raises(NotFoundError):
        await beside.as_(ADA).record("hidden")


async def test_a_slot_that_templates_can_name_is_taken(tmp_path: Path) -> None:
    write(tmp_path, "1", "tools: [{type: a, slot: 1_context}]\n")
    write(tmp_path, "2", "tools: [{type: a, slot: user_input}]\n")
    async with serving(f"sqlite:///{tmp_path}/heddle.db", folder=tmp_path) as service:
        slots = [(await service.as_(ADMIN).get(number)).assistant.tools[0].slot for number in "12"]
        assert slots == ["1_context", ""]
        warnings = (await service.as_(ADMIN).get("2")).warnings
        assert [each.field for each in warnings] == ["tools[0].slot"]
