"""Lists: pages, filters, and no row that a list changes."""

import json
from pathlib import Path
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, Caller, Service
from assistants.stored import everything, keep, keep_many
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_assistants.audit.log import open_audit_log
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.catalog.folder import FolderAssistants
from heddle_assistants.catalog.folder_checks import FolderChecks
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.database.encryption import Keys
from heddle_assistants.other_services import OtherServices
from heddle_assistants.repository.migrating import Migrations
from heddle_assistants.repository.reader import Reader
from heddle_assistants.repository.rows import Rows
from heddle_assistants.validation import Validation
from heddle_conversion.identifiers import DELETED_OWNER
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.storage.database.engine import Database


async def pages(caller: Caller, size: int, **members: object) -> list[list[str]]:
    """Return the ids of all pages."""
    found: list[list[str]] = []
    token = ""
    while token or not found:
        request = pb.ListAssistantsRequest(page_size=size, page_token=token, **members)  # type: ignore[arg-type] # any member
        response = await caller.ask(caller.assistants.ListAssistants, request)
        found.append([each.id for each in response.assistants])
        token = response.next_page_token
    return found


async def test_pages_hold_everything_once_in_the_order_of_numbers(
    service: Service, database: Database
) -> None:
    await keep_many(database, [{"name": f"a{number}"} for number in range(23)])
    found = await pages(service.as_(ADA), 5, selection=pb.SELECTION_OWN)
    assert [len(page) for page in found] == [5, 5, 5, 5, 3]
    assert [int(each) for page in found for each in page] == list(range(1, 24))
    assert await pages(service.as_(ADA), 23, selection=pb.SELECTION_OWN) == [
        [str(number) for number in range(1, 24)]
    ]


class Counted(Rows):
    """Rows that count how often they are read."""

    reads = 0

    async def after(self, *arguments: Any, **more: Any) -> list[Row]:
        self.reads += 1
        return await super().after(*arguments, **more)


async def test_a_small_page_reads_no_more_often_than_a_large_one(
    database: Database, tmp_path: Path
) -> None:
    await keep_many(database, [{"name": f"a{number}"} for number in range(500)])
    rows = Counted(database)
    validation = Validation(OtherServices(), ServiceCredentials("assistants"))
    folder = FolderAssistants(tmp_path, FolderChecks(validation))
    audit = await open_audit_log(database, Keys.of(["a-key-of-at-least-32-characters--"]))
    catalog = Catalog(folder, rows, Reader(rows, Migrations(audit)))
    # Any letter may be the one that only Python knows the small form of.
    assert await catalog.listed(ADA, pb.SELECTION_OWN, "Ü", "", 2) == []
    assert rows.reads < 10


async def test_a_page_of_long_descriptions_fits_into_a_message(
    service: Service, database: Database
) -> None:
    long = "x" * 3_000_000
    rows: list[dict[str, object]] = [
        {"name": f"a{number}", "description": long, "published": True} for number in range(12)
    ]
    await keep_many(database, rows)
    found = [each for page in await pages(service.as_(ADA), 1000) for each in page]
    assert found == [str(number) for number in range(1, 13)]


async def test_a_page_begins_where_the_one_before_ended_whatever_comes_or_goes(
    service: Service,
) -> None:
    ada = service.as_(ADA)
    for name in "abc":
        await ada.create(name)
    request = pb.ListAssistantsRequest(page_size=2, selection=pb.SELECTION_OWN)
    first = await ada.ask(ada.assistants.ListAssistants, request)
    await ada.ask(ada.assistants.DeleteAssistant, pb.DeleteAssistantRequest(id="2"))
    await ada.create("d")
    request.page_token = first.next_page_token
    second = await ada.ask(ada.assistants.ListAssistants, request)
    assert [each.id for each in second.assistants] == ["3", "4"]


async def test_each_selection_shows_its_own(service: Service, database: Database) -> None:
    for owner, published in (("ada", True), ("ada", False), ("bob", True), ("bob", False)):
        name = f"{owner}{published}"
        await keep(database, owner=f"{owner}@uni.example", published=published, name=name)
    await keep(database, organization="college", owner="eve@college.example", published=True)
    chair = Identity("chair@uni.example", "uni", ("organization_admin",))
    whole = Identity("orchestrator", "", ("service",))

    async def shown(identity: Identity) -> list[str]:
        selections = (pb.SELECTION_UNSPECIFIED, pb.SELECTION_OWN, pb.SELECTION_MANAGED)
        caller = service.as_(identity)
        return [
            "".join((await pages(caller, 9, selection=each))[0])
            for each in (*selections, pb.SELECTION_ALL)
        ]

    assert await shown(ADA) == ["13", "12", "12", "123"]
    assert await shown(chair) == ["13", "", "1234", "1234"]
    assert await shown(ADMIN) == ["135", "", "12345", "12345"]
    assert await shown(whole) == ["135", "", "", ""]
    eve = Identity("eve@college.example", "college", ("creator",))
    assert await shown(eve) == ["5", "5", "5", "5"]


async def test_a_deleted_assistant_is_in_no_list(service: Service, database: Database) -> None:
    ada = service.as_(ADA)
    await ada.create("stays", published=True)
    await ada.create("goes", published=True)
    await ada.ask(ada.assistants.DeleteAssistant, pb.DeleteAssistantRequest(id="2"))
    await keep(database, name="deleted_by_lamb", owner=DELETED_OWNER, published=True)
    await keep(database, name="marked", deleted_at=1, published=True)
    selections = (pb.SELECTION_UNSPECIFIED, pb.SELECTION_USABLE, pb.SELECTION_MANAGED)
    for identity in (ADA, ADMIN):
        caller = service.as_(identity)
        assert [await pages(caller, 9, selection=each) for each in selections] == [[["1"]]] * 3
    assert await pages(ada, 9, selection=pb.SELECTION_OWN) == [["1"]]
    owner = service.as_(Identity(DELETED_OWNER, "uni", ("creator",)))
    assert await pages(owner, 9, selection=pb.SELECTION_OWN) == [[]]


async def test_a_text_is_looked_for_in_names_and_titles_in_any_case(service: Service) -> None:
    ada = service.as_(ADA)
    await ada.create("my_tutor")
    await ada.create("two", title="A Tutor")
    await ada.create("three", title="100% Ähre")
    await ada.create("four", title="1000 uhre")
    texts = {"TUTOR": "12", "äHRE": "3", "ÄH": "3", "100%": "3", "0_": "", "\\": "", "x\0": ""}
    for text, found in texts.items():
        listed = await ada.listed(selection=pb.SELECTION_OWN, text=text)
        assert "".join(each.id for each in listed) == found, text


async def test_a_list_tells_what_each_assistant_is(service: Service, database: Database) -> None:
    able = json.dumps({"capabilities": {"vision": True, "image_generation": "yes"}})
    await keep(database, name="old", metadata=able, published=True)
    await keep(database, name="odd", metadata="not-json{")
    await keep(database, name="newer", metadata='{"_format_version": 9}')
    await keep(database, name="nothing", metadata=None)
    ada = service.as_(ADA)
    await ada.create("made", title="Made", description="By hand.")
    listed = {each.name: each for each in await ada.listed(selection=pb.SELECTION_MANAGED)}

    versions = {name: each.format_version for name, each in listed.items()}
    assert versions == {"old": 1, "odd": 0, "newer": 9, "nothing": 1, "made": 2}
    old, made = listed["old"], listed["made"]
    assert (old.title, old.published, old.owner) == ("old", True, "ada@uni.example")
    assert old.organization == "uni"
    assert old.capabilities == pb.Capabilities(vision=True)
    assert old.create_time.seconds == 1_700_000_000
    assert (made.title, made.description, made.published) == ("Made", "By hand.", False)


async def test_lists_change_no_row(service: Service, database: Database) -> None:
    await keep_many(database, [{"name": f"a{number}", "published": True} for number in range(1000)])
    before = await everything(database)
    ada = service.as_(ADA)
    for selection in pb.Selection.values():
        await pages(ada, 400, selection=selection)
    await ada.listed(text="A1")
    assert await everything(database) == before


@pytest.mark.parametrize(
    ("member", "value"),
    [("page_token", "?"), ("page_size", -1), ("text", "x" * 201), ("selection", 9)],
)
async def test_a_wrong_request_names_the_field(
    service: Service, member: str, value: object
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await service.as_(ADA).listed(**{member: value})
    assert [violation.field for violation in refused.value.violations] == [member]
