"""The tools of Moodle, through the whole service: whose Moodle, whose data, and what goes wrong."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from heddle.account.v1 import account_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, ToolFailedError, UnavailableError
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.callers import Identity
from runtime.accounts import Accounts
from runtime.examples import sampled
from structlog.testing import capture_logs
from tools_service.calling import Calling, calling_tools
from tools_service.moodle_site import EXCEPTION, SERVER, MoodleServer, course, moodle_site
from tools_service.serving import invocation, said, text_of

ANN, BEN = "ann@uni.example", "ben@uni.example"
TOKEN = "moodle-token"
UNI = said("?", organization="uni")
AS_ANN: dict[str, Any] = {"context": UNI, "identity": Identity(ANN, "uni")}
ASKED = ("moodle", "get_moodle_courses")


@pytest.fixture
async def site() -> AsyncIterator[MoodleServer]:
    """The university's Moodle, where Ann is number 7 and Ben number 8."""
    async with moodle_site() as server:
        server.users = {ANN: [7], BEN: [8]}
        server.courses = {
            7: [course(1, "Looms &amp; threads", categoryname="Crafts"), course(2, "Knots")],
            8: [course(3, "Secrets of Ben")],
        }
        yield server


def known(site: MoodleServer) -> Accounts:
    accounts = Accounts(owners={ANN: "uni"})  # type: ignore[abstract] # it does not offer every method
    accounts.add("uni", moodle=account_pb2.Moodle(url=f"{site.url}/", token=site.token))
    accounts.add("poor")
    accounts.add("default", system=True)
    return accounts


@pytest.fixture
async def accounts(site: MoodleServer) -> Accounts:
    return known(site)


@pytest.fixture
async def tools(accounts: Accounts, tmp_path: Path) -> AsyncIterator[Calling]:
    async with calling_tools(tmp_path, accounts) as calling:
        yield calling


async def failure(tools: Calling, **more: Any) -> HeddleError:
    error = await tools.failure(*ASKED, **{**AS_ANN, **more})
    assert json.loads(error.metadata["details_json"])["success"] is False
    return error


async def test_the_courses_of_who_asks_are_told(tools: Calling, site: MoodleServer) -> None:
    assert await tools.answer(*ASKED, **AS_ANN) == {
        "courses": [
            {"id": 1, "name": "Looms & threads", "shortname": "C1", "category": "Crafts"},
            {"id": 2, "name": "Knots", "shortname": "C2", "category": "3"},
        ],
        "course_count": 2,
        "success": True,
    }
    assert site.functions == ["core_user_get_users_by_field", "core_enrol_get_users_courses"]


@pytest.mark.parametrize("other", ["8", BEN])
async def test_nobody_reads_what_is_anothers_by_asking_for_him(
    tools: Calling, site: MoodleServer, other: str
) -> None:
    answer = await tools.answer(*ASKED, **AS_ANN, user_id=other)
    assert "Secrets" not in str(answer)
    assert {call["userid"] for call in site.calls if "userid" in call} == {"7"}


async def test_an_account_is_looked_for_once(tools: Calling, site: MoodleServer) -> None:
    for _ in range(3):
        await tools.answer(*ASKED, **AS_ANN)
    await tools.answer(*ASKED, context=UNI, identity=Identity(BEN, "uni"))
    assert site.functions.count("core_user_get_users_by_field") == 2
    assert site.calls[-1]["userid"] == "8"


@pytest.mark.parametrize(
    "identity",
    [
        Identity("key:0123", "uni"),
        Identity("operator", "uni", ("admin",)),
        Identity("default", "uni"),
        Identity(ANN, "uni", client_user="5f0c"),
    ],
)
async def test_who_asks_in_nobodys_name_reads_nothing(
    tools: Calling, site: MoodleServer, identity: Identity
) -> None:
    error = await failure(tools, identity=identity, user_id="7")
    assert error.metadata["kind"] == "no_user"
    assert not site.calls


async def test_another_organisations_people_read_nothing(
    tools: Calling, site: MoodleServer
) -> None:
    for home in ("poor", "default", ""):
        error = await failure(tools, identity=Identity(ANN, home))
        assert error.metadata["kind"] == "other_organization"
    assert not site.calls


async def test_each_organisation_asks_its_own_moodle(
    accounts: Accounts, site: MoodleServer, tmp_path: Path
) -> None:
    async with moodle_site(token="school-token", users={ANN: [70]}) as school:
        school.courses = {70: [course(5, "Arithmetic")]}
        theirs = account_pb2.Moodle(url=school.url + SERVER, token=school.token)
        accounts.add("school", moodle=theirs)
        async with calling_tools(tmp_path, accounts) as tools:
            at_uni = await tools.answer(*ASKED, **AS_ANN)
            at_school = await tools.answer(
                *ASKED,
                context=said("?", organization="school"),
                identity=Identity(ANN, "school"),
            )
    assert [each["id"] for each in at_uni["courses"]] == [1, 2]
    assert [each["id"] for each in at_school["courses"]] == [5]
    assert {call["wstoken"] for call in site.calls} == {TOKEN}
    assert {call["wstoken"] for call in school.calls} == {"school-token"}


async def test_the_operators_moodle_is_for_the_operators_assistants_alone(
    accounts: Accounts, site: MoodleServer, tmp_path: Path
) -> None:
    given = {"MOODLE_API_URL": site.url, "MOODLE_TOKEN": site.token}
    async with calling_tools(tmp_path, accounts, **given) as tools:
        answer = await tools.answer(*ASKED, context=said("?"), identity=Identity(ANN))
        assert answer["course_count"] == 2
        error = await failure(
            tools, context=said("?", organization="poor"), identity=Identity(ANN, "poor")
        )
    assert error.message == "MOODLE_API_URL or MOODLE_TOKEN not configured"


async def test_without_a_moodle_nothing_is_made_up(tools: Calling) -> None:
    error = await failure(
        tools, context=said("?", organization="poor"), identity=Identity(ANN, "poor")
    )
    assert error.message == "MOODLE_API_URL or MOODLE_TOKEN not configured"
    assert error.metadata["kind"] == "not_configured"


@pytest.mark.parametrize(
    ("numbers", "told"),
    [([], "knows no account with your e-mail"), ([7, 9], "several accounts with your e-mail")],
)
async def test_an_account_that_is_not_certain_is_none(
    tools: Calling, site: MoodleServer, numbers: list[int], told: str
) -> None:
    site.users = {ANN: numbers}
    error = await failure(tools)
    assert told in error.message
    assert site.functions == ["core_user_get_users_by_field"]


async def test_an_account_of_another_address_is_not_taken(
    tools: Calling, site: MoodleServer
) -> None:
    site.answer = [{"id": 8, "email": BEN}]
    assert (await failure(tools)).metadata["kind"] == "unknown_user"


async def test_hidden_courses_stay_hidden(tools: Calling, site: MoodleServer) -> None:
    site.courses[7] = [course(1, "Open"), course(2, "Not yet", visible=0)]
    answer = await tools.answer(*ASKED, **AS_ANN)
    assert [each["name"] for each in answer["courses"]] == ["Open"]


async def test_a_refusal_of_moodle_is_an_error_though_its_status_is_200(
    tools: Calling, site: MoodleServer
) -> None:
    site.token = "another"
    error = await failure(tools)
    assert isinstance(error, ToolFailedError)
    assert error.message == (
        "Moodle refuses core_user_get_users_by_field (invalidtoken): "
        "Invalid token - token not found"
    )
    assert json.loads(error.metadata["details_json"])["errorcode"] == "invalidtoken"


async def test_a_refusal_without_a_code_is_told_in_moodles_words(
    tools: Calling, site: MoodleServer
) -> None:
    site.answer = {"error": "Web services must be enabled"}
    error = await failure(tools)
    assert error.message.endswith("(unknown): Web services must be enabled")


@pytest.mark.parametrize(
    "answer",
    sampled(
        [
            {
                "exception": EXCEPTION,
                "errorcode": "x",
                "message": f"no, {TOKEN}!",
                "debuginfo": TOKEN,
            },
            {"error": f"<b>{TOKEN}</b>", "errorcode": f"{TOKEN} {TOKEN}", "stacktrace": TOKEN},
            {"exception": EXCEPTION},
            {"exception": EXCEPTION, "errorcode": TOKEN},
            401,
            403,
            500,
            b"<html>" + TOKEN.encode(),
            f"http://127.0.0.1:9/?wstoken={TOKEN}",
            {"id": 7},
            [7],
            [{"id": "7", "email": ANN}],
            [{"id": True, "email": ANN}],
            None,
            5,
        ],
        5,
    ),
)
async def test_whatever_moodle_answers_its_token_is_told_to_nobody(
    tools: Calling, site: MoodleServer, answer: Any
) -> None:
    site.answer = b"null" if answer is None else b"5" if answer == 5 else answer
    with capture_logs() as logs:
        error = await failure(tools)
    assert isinstance(error, ToolFailedError | UnavailableError)
    assert TOKEN not in f"{error.message}{error.metadata}{logs}"
    assert len(site.calls) == 1


async def test_a_moodle_that_is_too_slow_is_told(
    accounts: Accounts, site: MoodleServer, tmp_path: Path
) -> None:
    site.delay = 60
    async with calling_tools(tmp_path, accounts, http_timeout=0.5) as tools:
        error = await failure(tools)
    assert isinstance(error, UnavailableError)
    assert error.message == "Moodle did not answer in time."


@pytest.mark.parametrize("url", ["ftp://moodle", "moodle", "http://u:moodle-token@moodle"])
async def test_an_address_of_no_use_is_told_without_repeating_it(
    accounts: Accounts, tmp_path: Path, url: str
) -> None:
    accounts.add("uni", moodle=account_pb2.Moodle(url=url, token=TOKEN))
    async with calling_tools(tmp_path, accounts) as tools:
        error = await failure(tools)
    assert error.message.startswith("Moodle configuration error: the address of your organisation")
    assert url not in error.message
    assert TOKEN not in error.message


async def test_settings_that_cannot_be_had_are_told(
    tools: Calling, accounts: Accounts, site: MoodleServer
) -> None:
    accounts.failure = UnavailableError("moodle-token is at http://moodle.uni")
    error = await failure(tools)
    assert isinstance(error, UnavailableError)
    assert TOKEN not in error.message
    assert not site.calls


async def test_bound_before_the_model_it_fills_a_slot(tools: Calling) -> None:
    event = await tools.event(invocation("1", "moodle"), **AS_ANN)
    assert json.loads(text_of(event.result))["course_count"] == 2
    assert event.result.slot == "moodle"


async def test_both_functions_of_an_assistant_of_lamb_are_declared(tools: Calling) -> None:
    bound = [invocation("w", "weather"), invocation("m", "moodle")]
    request = pb.ListFunctionsRequest(invocations=bound)
    listed = await tools.client.stub.ListFunctions(request, timeout=5)
    declared = {
        each.id: (function.name, json.loads(function.parameters_schema_json).get("required", []))
        for each in listed.functions
        for function in each.functions
    }
    assert declared == {"w": ("get_weather", ["city"]), "m": ("get_moodle_courses", [])}


async def test_an_organisations_moodle_is_in_no_private_network(
    accounts: Accounts, site: MoodleServer, tmp_path: Path
) -> None:
    async with calling_tools(tmp_path, accounts, **{SETTING: ""}) as tools:
        error = await failure(tools)

    assert isinstance(error, ToolFailedError)
    assert SETTING in error.message
    assert site.calls == []
