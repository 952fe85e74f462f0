"""The tool `moodle_user`: how the person who asks is named in a prompt."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from heddle.account.v1 import account_pb2
from heddle.chat.v1 import chat_pb2
from heddle_runtime.identity.callers import Identity
from runtime.accounts import Accounts
from tools_service.calling import Calling, calling_tools
from tools_service.moodle_site import MoodleServer, moodle_site
from tools_service.serving import invocation, said, text_of

ANN = "ann@uni.example"
KEY = Identity("key:1", "uni")
FORWARDED = Identity("key:1", "uni", client_user="5f0c")
ALL: dict[str, Any] = {
    "user_id": 12,
    "lti_user_id": "lti-3",
    "lis_person_sourcedid": "sis:4",
    "email": "meta@uni.example",
}


@pytest.fixture
async def site() -> AsyncIterator[MoodleServer]:
    async with moodle_site(users={ANN: [7], "meta@uni.example": [9]}) as server:
        yield server


@pytest.fixture
async def tools(site: MoodleServer, tmp_path: Path) -> AsyncIterator[Calling]:
    async with calling_tools(tmp_path, known(site)) as calling:
        yield calling


def known(site: MoodleServer) -> Accounts:
    accounts = Accounts()  # type: ignore[abstract] # it does not offer every method
    accounts.add("uni", moodle=account_pb2.Moodle(url=site.url, token=site.token))
    accounts.add("poor")
    return accounts


async def named(
    tools: Calling, identity: Identity, organization: str = "uni", **metadata: Any
) -> str:
    context = said("?", organization=organization)
    extra = json.dumps({"metadata": metadata, "__openwebui_headers__": {"x": ANN}})
    context.options.CopyFrom(chat_pb2.GenerationOptions(extra_json=extra))
    event = await tools.event(invocation("1", "moodle_user"), context, identity)
    assert event.result.slot == "moodle_user"
    return text_of(event.result)


@pytest.mark.parametrize(
    ("identity", "without", "name"),
    [
        (Identity(ANN, "uni"), [], "7"),
        (FORWARDED, [], "5f0c"),
        (Identity(ANN, "uni", client_user="5f0c"), [], "5f0c"),
        (KEY, [], "12"),
        (KEY, ["user_id"], "lti-3"),
        (KEY, ["user_id", "lti_user_id"], "sis:4"),
        (KEY, ["user_id", "lti_user_id", "lis_person_sourcedid"], "meta@uni.example"),
        (KEY, list(ALL), "default"),
    ],
)
async def test_the_first_of_seven_sources_names_the_person(
    tools: Calling, site: MoodleServer, identity: Identity, without: list[str], name: str
) -> None:
    metadata: dict[str, Any] = {key: value for key, value in ALL.items() if key not in without}
    assert await named(tools, identity, **metadata) == name
    # Only the address that the gateway vouches for is ever looked up.
    assert [call["values"] for call in site.calls] == ([[ANN]] if name == "7" else [])


@pytest.mark.parametrize("value", ["", "  ", None, True, [], {"a": 1}, 1.5])
async def test_what_is_no_name_is_passed_over(tools: Calling, value: Any) -> None:
    assert await named(tools, KEY, user_id=value, email="x@y.example") == "x@y.example"


async def test_a_name_is_one_line_of_bounded_length(tools: Calling) -> None:
    name = await named(tools, KEY, user_id="a\n\nb" + "c" * 1000)
    assert name == "a b" + "c" * 197


async def test_a_clients_own_name_for_the_person_is_one_line_likewise(tools: Calling) -> None:
    name = await named(tools, Identity("key:1", "uni", client_user="a \t b" + "c" * 1000))
    assert name == "a b" + "c" * 197
    blank = Identity("key:1", "uni", client_user="  ")
    assert await named(tools, blank, user_id=12) == "12"


@pytest.mark.parametrize("answer", [500, b"", [], {"exception": "e", "message": "m"}, "http://x/"])
async def test_where_moodle_does_not_help_the_address_stands(
    tools: Calling, site: MoodleServer, answer: Any
) -> None:
    site.answer = answer
    assert await named(tools, Identity(ANN, "uni")) == ANN
    assert len(site.calls) == 1


async def test_a_slow_moodle_does_not_hold_the_answer_up(
    site: MoodleServer, tmp_path: Path
) -> None:
    site.delay = 60
    async with calling_tools(tmp_path, known(site), http_timeout=0.5) as tools:
        assert await named(tools, Identity(ANN, "uni")) == ANN


async def test_without_a_moodle_the_address_stands(tools: Calling, site: MoodleServer) -> None:
    assert await named(tools, Identity(ANN, "poor"), "poor") == ANN
    assert await named(tools, Identity(ANN, "poor"), "uni") == ANN  # another organisation's
    assert not site.calls
