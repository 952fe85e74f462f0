"""`RubricService`: what is kept comes back, edits are not lost, and LAMB's rules hold."""

import json
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, Service
from assistants.stored import RUBRIC, keep_rubric, keep_user
from heddle.rubric.v1 import rubric_pb2 as pb
from heddle_assistants.database.schema import rubrics
from heddle_runtime.errors import (
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from heddle_tools_service.tools.rubric_forms import RubricData
from sqlalchemy import select

BOB = Identity("bob@uni.example", "uni", ("creator",))
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))
TOOLS = Identity("heddle-tools", scopes=("service",))
ESSAY: dict[str, Any] = {
    "title": "Essay",
    "description": "How an essay is assessed.",
    "subject": "not a member of LAMB's",
    "metadata": {"author": "Ada"},
    "scoringType": "points",
    "maxScore": 10,
    "criteria": [
        {
            "id": "c1",
            "name": "Argument",
            "description": "Has a claim.",
            "weight": 100,
            "levels": [
                {"id": "l1", "score": 4, "label": "Strong", "description": "Clear."},
                {"id": "l2", "score": 0, "label": "None", "description": ""},
            ],
        }
    ],
}
TEXT = json.dumps(ESSAY)


async def test_a_page_of_long_descriptions_fits_into_a_message(
    service: Service, database: Database
) -> None:
    for number in range(12):
        await keep_rubric(database, f"r{number}", description="x" * 3_000_000)
    found: list[str] = []
    ada, request = service.as_(ADA), pb.ListRubricsRequest(page_size=1000)
    while not found or request.page_token:
        page = await ada.ask(ada.rubrics.ListRubrics, request)
        found += [each.id for each in page.rubrics]
        request.page_token = page.next_page_token
    assert found == [f"r{number}" for number in range(12)]


async def test_what_is_created_comes_back_with_what_lamb_expects(service: Service) -> None:
    ada = service.as_(ADA)
    made = await ada.create_rubric(TEXT, public=True)
    got = await ada.rubric(made.rubric.id)

    assert (got.rubric, got.etag) == (made.rubric, made.etag)
    assert (got.rubric.owner, got.rubric.organization) == (ADA.subject, "uni")
    assert (got.rubric.title, got.rubric.description) == ("Essay", "How an essay is assessed.")
    assert got.rubric.public
    content = json.loads(got.rubric.content_json)
    assert content.pop("rubricId") == got.rubric.id
    times = content["metadata"]
    assert times.pop("createdAt") == times.pop("modifiedAt")
    assert content == ESSAY
    assert RubricData.model_validate(content).criteria[0].name == "Argument"  # as the tool reads


async def test_an_update_replaces_the_rubric_and_not_whose_it_is(service: Service) -> None:
    ada = service.as_(ADA)
    made = await ada.create_rubric(TEXT, public=True)
    content = json.dumps({**ESSAY, "title": "Second", "rubricId": "of the client's choice"})
    wanted = pb.Rubric(id=made.rubric.id, content_json=content, owner=BOB.subject)
    changed = await ada.update_rubric(wanted, made.etag)

    assert changed.etag != made.etag
    assert (changed.rubric.title, changed.rubric.public) == ("Second", False)
    assert (changed.rubric.owner, changed.rubric.id) == (ADA.subject, made.rubric.id)
    kept = json.loads(changed.rubric.content_json)
    before = json.loads(made.rubric.content_json)
    assert kept["rubricId"] == made.rubric.id
    assert kept["metadata"]["createdAt"] == before["metadata"]["createdAt"]
    assert (await ada.rubric(made.rubric.id)).rubric == changed.rubric


async def test_what_is_read_can_be_sent_back_and_changes_nothing(
    service: Service, database: Database
) -> None:
    ada = service.as_(ADA)
    await keep_rubric(database, "from-lamb")  # in a form that LAMB would not save today
    read = await ada.rubric("from-lamb")
    same = await ada.update_rubric(read.rubric, read.etag)
    assert (same.rubric, same.etag) == (read.rubric, read.etag)

    read.rubric.public = True
    published = await ada.update_rubric(read.rubric, read.etag)
    assert published.etag != read.etag
    assert (published.rubric.public, published.rubric.content_json) == (True, RUBRIC)


async def test_an_edit_of_what_somebody_else_changed_is_refused(service: Service) -> None:
    ada, chair = service.as_(ADA), service.as_(CHAIR)
    made = await ada.create_rubric(TEXT)
    made.rubric.public = True
    theirs = await chair.update_rubric(made.rubric, made.etag)
    mine = pb.Rubric(id=made.rubric.id, content_json=TEXT)
    with pytest.raises(ConflictError, match=made.rubric.id):
        await ada.update_rubric(mine, made.etag)
    with pytest.raises(ConflictError):
        await ada.delete_rubric(made.rubric.id, made.etag)
    assert (await ada.rubric(made.rubric.id)).etag == theirs.etag

    await ada.delete_rubric(made.rubric.id, theirs.etag)
    with pytest.raises(NotFoundError):
        await ada.delete_rubric(made.rubric.id)


async def test_only_an_administrator_makes_one_for_somebody_else(
    service: Service, database: Database
) -> None:
    await keep_user(database, BOB.subject, "uni", 5)
    with pytest.raises(PermissionDeniedError):
        await service.as_(ADA).create_rubric(TEXT, owner=BOB.subject)
    for somebody in (CHAIR, ADMIN):
        made = await service.as_(somebody).create_rubric(TEXT, owner=BOB.subject)
        assert (made.rubric.owner, made.rubric.organization) == (BOB.subject, "uni")
    with pytest.raises(PermissionDeniedError, match="key of an organisation owns nothing"):
        await service.as_(Identity("key:1", "uni", ("creator",))).create_rubric(TEXT)


async def test_a_list_is_read_page_by_page(service: Service, database: Database) -> None:
    ada = service.as_(ADA)
    for number in range(5):
        await keep_rubric(database, f"r{number}")
    await keep_rubric(database, "elsewhere", organization="college", is_public=True)
    found, token = [], ""
    while True:
        request = pb.ListRubricsRequest(page_size=2, page_token=token)
        page = await ada.ask(ada.rubrics.ListRubrics, request)
        assert not any(each.content_json for each in page.rubrics)
        found += [each.id for each in page.rubrics]
        if not (token := page.next_page_token):
            break
    assert found == [f"r{number}" for number in range(5)]
    for wrong in ("!", "YWJj"):
        with pytest.raises(InvalidRequestError, match="page token"):
            await ada.listed_rubrics(page_token=wrong)


@pytest.mark.parametrize(
    ("owner", "organization", "found"),
    [
        (ADA.subject, "uni", {"own", "public"}),
        (ADA.subject, "", {"own", "public"}),  # whose organisation is known
        (BOB.subject, "uni", {"public"}),
        ("", "uni", {"public"}),
        (CHAIR.subject, "uni", {"public"}),  # an administrator's assistants are no administrators
        (ADA.subject, "college", {"college"}),  # a namesake
        (ADMIN.subject, "", set()),
        ("nobody@uni.example", "", set()),
        ("", "", set()),
        ("\0", "", set()),
    ],
)
async def test_an_assistant_reads_what_is_its_owners_or_public_where_the_owner_is(
    service: Service, database: Database, owner: str, organization: str, found: set[str]
) -> None:
    await keep_user(database, ADA.subject, "uni", 5)
    await keep_rubric(database, "own")
    await keep_rubric(database, "public", owner_email="x@uni.example", is_public=True)
    await keep_rubric(database, "private", owner_email="x@uni.example")
    await keep_rubric(database, "nobodys", owner_email="")
    elsewhere = {"organization": "college", "owner_email": "x@college.example"}
    await keep_rubric(database, "college", **elsewhere, is_public=True)
    tools = service.as_(TOOLS)
    whose = pb.AssistantOwner(owner=owner, organization=organization)
    readable = set()
    for name in ("own", "public", "private", "nobodys", "college", "missing"):
        try:
            readable.add((await tools.rubric(name, whose)).rubric.id)
        except NotFoundError as error:
            assert error.message == f"No rubric has the id {name!r}."  # noqa: PT017 - some are found
    assert readable == found


def changed(*steps: str | int, value: object) -> str:
    """Return the text of the rubric with one thing in it replaced, or taken out."""
    content: Any = json.loads(TEXT)
    place = content
    for step in steps[:-1]:
        place = place[step]
    if value is None:
        del place[steps[-1]]
    else:
        place[steps[-1]] = value
    return json.dumps(content)


WRONG = [
    (changed("title", value=None), "title: is required"),
    (changed("title", value=""), "title: "),
    (changed("title", value="a\0b"), "title: "),
    (changed("description", value=None), "description: is required"),
    (changed("scoringType", value="stars"), "scoringType: "),
    (changed("maxScore", value=0), "maxScore: "),
    (changed("maxScore", value="10"), "maxScore: "),
    (changed("maxScore", value=True), "maxScore: "),
    (changed("maxScore", value=10**400), "maxScore: "),
    (changed("criteria", value=[]), "criteria: "),
    (changed("criteria", 0, "id", value=None), "criteria[0].id: is required"),
    (changed("criteria", 0, "weight", value=-1), "criteria[0].weight: "),
    (changed("criteria", 0, "levels", 1, value=None), "criteria[0].levels: "),
    (changed("criteria", 0, "levels", 1, "label", value=""), "criteria[0].levels[1].label: "),
    (changed("metadata", value=[]), "metadata: "),
    (changed("subject", value="\ud800"), "half of a character"),
    (changed("maxScore", value=float("inf")), "number that JSON cannot write"),
    ("[]", "not a JSON object"),
    ("{", "not JSON"),
    ("null", "title: is required"),
    ('{"a":' * 40 + "1" + "}" * 40, "levels deep"),
    (changed("subject", value="x" * 300_000), "at most 262144 characters"),
]


async def test_a_wrong_rubric_is_told_where(embedded: Service, subtests: pytest.Subtests) -> None:
    ada = embedded.as_(ADA)
    kept = (await ada.create_rubric(TEXT)).rubric
    for content, said in WRONG:
        updated = pb.Rubric(id=kept.id, content_json=content)
        with subtests.test(content=content[:200]):
            for call in (ada.create_rubric(content), ada.update_rubric(updated)):
                with pytest.raises(InvalidRequestError) as caught:
                    await call
                descriptions = described(caught.value)
                assert any(said in each for each in descriptions)
                assert not any("should" in each for each in descriptions)


def described(error: InvalidRequestError) -> list[str]:
    """Return what is wrong with which member of a rubric."""
    prefix = "rubric.content_json"
    assert all(each.field.startswith(prefix) for each in error.violations)
    return [
        f"{each.field.removeprefix(f'{prefix}.')}: {each.description}" for each in error.violations
    ]


async def test_requests_without_the_essentials_are_refused(embedded: Service) -> None:
    ada = embedded.as_(ADA)
    for call, field in (
        (ada.create_rubric(""), "rubric.content_json"),
        (ada.update_rubric(pb.Rubric(content_json=TEXT)), "rubric.id"),
        (ada.create_rubric(TEXT, owner="a\0b"), "rubric.owner"),
        (ada.create_rubric(TEXT, owner="a" * 400), "rubric.owner"),
        (ada.rubric(""), "id"),
    ):
        with pytest.raises(InvalidRequestError) as caught:
            await call
        assert [each.field for each in caught.value.violations] == [field]


async def test_an_id_that_no_database_keeps_is_missing(service: Service) -> None:
    ada = service.as_(ADA)
    for call in (
        ada.rubric("a\0b"),
        ada.delete_rubric("a\0b"),
        ada.update_rubric(pb.Rubric(id="a\0b", content_json=TEXT)),
    ):
        with pytest.raises(NotFoundError):
            await call


async def test_a_deleted_rubric_leaves_nothing(service: Service, database: Database) -> None:
    ada = service.as_(ADA)
    made = await ada.create_rubric(TEXT)
    await ada.delete_rubric(made.rubric.id)
    async with database.reading() as connection:
        assert (await connection.execute(select(rubrics))).all() == []
