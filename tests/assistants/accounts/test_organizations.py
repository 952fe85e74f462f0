"""Organisations and their settings, as administrators write and read them."""

import asyncio
import json
from typing import Any

import pytest
from assistants.accounts.conftest import SERVICE, UNI_ADMIN, Accounts, serving
from heddle.account.v1 import account_pb2 as pb
from heddle_assistants.database.schema import organizations
from heddle_runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
)
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select, update

TOKEN = "sk-very-secret-0123456789"
SETTINGS = {
    "version": "1.0",
    "setups": {
        "default": {
            "providers": {
                "openai": {
                    "api_key": TOKEN,
                    "base_url": "https://llm.uni.example/v1",
                    "models": ["gpt-4o", "gpt-4o-mini"],
                    "max_tokens": 9007199254740993,
                }
            },
            "knowledge_base": {"server_url": "http://kb:9090", "api_token": "kb-secret"},
        }
    },
    "features": {"signup_enabled": True, "signup_key": "let-me-in-please"},
    "unknown": {"deep": [{"clientSecret": "s3cr3t"}, {"credentials": {"a": 5, "b": ["x"]}}]},
}
KNOWLEDGE = {"server_url": "http://kb:9090", "api_token": "********"}
SECRETS = (TOKEN, "kb-secret", "let-me-in-please", "s3cr3t")


async def kept(rows: Database, slug: str) -> str:
    async with rows.reading() as connection:
        query = select(organizations.c.config).where(organizations.c.slug == slug)
        return str(await connection.scalar(query))


async def shown(accounts: Accounts, slug: str = "uni") -> Any:
    return json.loads((await accounts.organization(slug)).organization.settings_json)


async def test_settings_come_back_without_their_secrets_and_otherwise_as_they_were(
    accounts: Accounts,
) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    found = await shown(accounts)
    default = found["setups"]["default"]
    assert default["providers"]["openai"] == {
        **SETTINGS["setups"]["default"]["providers"]["openai"],  # type: ignore[index] # the shape is above
        "api_key": "********",
    }
    assert default["knowledge_base"] == {"server_url": "http://kb:9090", "api_token": "********"}
    assert found["features"] == {"signup_enabled": True, "signup_key": "********"}
    assert found["unknown"]["deep"] == [
        {"clientSecret": "********"},
        {"credentials": {"a": "********", "b": ["********"]}},
    ]
    assert not any(secret in json.dumps(found) for secret in SECRETS)


async def test_secrets_are_kept_encrypted(accounts: Accounts, rows: Database) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    text = await kept(rows, "uni")
    assert not any(secret in text for secret in SECRETS)
    assert "https://llm.uni.example/v1" in text


async def test_what_is_shown_can_be_put_back_without_a_loss(accounts: Accounts) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    found = await shown(accounts)
    found["setups"]["default"]["providers"]["openai"]["models"] = ["gpt-5"]
    await accounts.replace("uni", json.dumps(found), UNI_ADMIN)
    settings = await accounts.settings(organization="uni")
    assert settings.providers["openai"].api_key == TOKEN
    assert list(settings.providers["openai"].models) == ["gpt-5"]
    assert settings.knowledge.token == "kb-secret"


async def test_a_name_alone_leaves_the_settings_as_they_are(accounts: Accounts) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    given = pb.Organization(slug="uni", name="The University")
    request = pb.PutOrganizationRequest(organization=given)
    assert (await accounts.call("PutOrganization", request)).organization.name == "The University"
    assert (await accounts.settings(organization="uni")).knowledge.token == "kb-secret"


def moved(**members: Any) -> Any:
    changed = json.loads(json.dumps(SETTINGS))
    openai = changed["setups"]["default"]["providers"]["openai"]
    openai |= {"api_key": "********", **members}
    return changed


@pytest.mark.parametrize(
    "changed",
    [
        moved(base_url="https://thief.example/v1"),
        {**moved(), "kb_server": {"url": "http://thief.example", "server_url": "http://t.example"}}
        | {"setups": {"default": {"knowledge_base": {"api_token": "********"}}}},
        {"setups": {"default": {"knowledge_base": {"url": "http://t", "api_token": "********"}}}},
        {**moved(), "knowledge_store": {"server_url": "http://thief.example", "api_token": "t"}},
        {"moodle": {"url": "http://moodle", "token": "********"}},
        {"setups": {"default": {"providers": {"openai": {"api_key": "********"}}}}},
        {"setups": {"default": {"providers": {"other": {"api_key": "********"}}}}},
    ],
)
async def test_a_secret_goes_to_no_other_server_unless_it_is_given_anew(
    accounts: Accounts, changed: Any
) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    with pytest.raises(InvalidRequestError) as caught:
        await accounts.replace("uni", json.dumps(changed), UNI_ADMIN)
    assert caught.value.violations[0].field == "organization.settings_json"
    assert TOKEN not in str(caught.value.violations)


THIEF = "https://thief.example"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (
            {
                "setups": {"default": {"knowledge_base": KNOWLEDGE}},
                "kb_server": {"url": THIEF, "server_url": THIEF, "api_token": "another"},
            },
            {
                "setups": {"default": {"knowledge_base": KNOWLEDGE}},
                "kb_server": {"url": THIEF, "server_url": THIEF},
            },
        ),
        (
            {"moodle": {"url": THIEF, "token": "another", "wstoken": "********"}},
            {"moodle": {"url": THIEF, "wstoken": "********"}},
        ),
        (
            {
                "setups": {"default": {"mcp_servers": {"x": {"url": THIEF, "token": "********"}}}},
                "mcp_servers": {"x": {"url": THIEF, "token": "another"}},
            },
            {"setups": {"default": {"mcp_servers": {"x": {"url": THIEF, "token": "********"}}}}},
        ),
    ],
)
async def test_a_secret_goes_to_no_other_server_in_two_steps_either(
    accounts: Accounts, first: Any, then: Any
) -> None:
    given = {
        "setups": {
            "default": {
                "knowledge_base": {"server_url": "http://kb:9090", "api_token": "kb-secret"},
                "mcp_servers": {"x": {"url": "https://mcp.example", "token": "mcp-secret"}},
            }
        },
        "moodle": {"url": "https://moodle.example", "wstoken": "moodle-secret"},
    }
    await accounts.replace("uni", json.dumps(given))
    await accounts.replace("uni", json.dumps(first), UNI_ADMIN)
    with pytest.raises(InvalidRequestError) as caught:
        await accounts.replace("uni", json.dumps(then), UNI_ADMIN)
    assert "give its secret anew" in caught.value.violations[0].description


async def test_new_keys_may_go_to_a_new_store_server_which_then_may_stay(
    accounts: Accounts,
) -> None:
    store = {"server_url": "https://stores.example", "api_token": "stores-secret"}
    await accounts.replace("uni", json.dumps(SETTINGS))
    await accounts.replace("uni", json.dumps({**SETTINGS, "knowledge_store": store}), UNI_ADMIN)
    masked = {**moved(), "knowledge_store": store | {"api_token": "********"}}
    await accounts.replace("uni", json.dumps(masked), UNI_ADMIN)
    settings = await accounts.settings(organization="uni")
    assert settings.knowledge_store.token == "stores-secret"
    assert settings.providers["openai"].api_key == TOKEN
    await accounts.replace("uni", json.dumps(moved()), UNI_ADMIN)  # the operator's serves again


async def test_a_new_secret_may_go_to_a_new_server(accounts: Accounts) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    changed = moved(base_url="https://new.example/v1", api_key="another")
    await accounts.replace("uni", json.dumps(changed))
    openai = (await accounts.settings(organization="uni")).providers["openai"]
    assert (openai.base_url, openai.api_key) == ("https://new.example/v1", "another")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        "1",
        '{"a": NaN}',
        '{"a": ' * 5000 + "1" + "}" * 5000,
        '{"a": ' * 700 + "1" + "}" * 700,
        "null",
        f'{{"a": "{"x" * 300_000}"}}',
        '{"token": "********"}',
    ],
    ids=[
        "list",
        "cut",
        "number",
        "nan",
        "too deep to read",
        "too deep to walk",
        "null",
        "large",
        "no secret there",
    ],
)
async def test_what_are_no_settings_is_refused_and_nothing_changes(
    accounts: Accounts, text: str
) -> None:
    before = await accounts.organization("uni")
    with pytest.raises(InvalidRequestError):
        await accounts.replace("uni", text)
    assert await accounts.organization("uni") == before


@pytest.mark.parametrize("text", ['{"a": "\\ud800\\u0000"}', '{"a": "ü", "api_key": "ключ"}'])
async def test_any_text_of_json_is_kept(accounts: Accounts, text: str) -> None:
    await accounts.replace("uni", text)
    assert (await shown(accounts))["a"] == json.loads(text)["a"]


async def test_no_organisation_that_is_made_is_the_operators_but_the_default(
    accounts: Accounts,
) -> None:
    systems = {slug: (await accounts.organization(slug)).organization.system for slug in NAMES}
    assert systems == {"default": True, "uni": False, "evil": False}


NAMES = ("default", "evil", "uni")


async def test_organisations_are_listed_by_slug_without_their_settings(accounts: Accounts) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    first = await accounts.call("ListOrganizations", pb.ListOrganizationsRequest(page_size=2))
    rest = await accounts.call(
        "ListOrganizations", pb.ListOrganizationsRequest(page_token=first.next_page_token)
    )
    found = [*first.organizations, *rest.organizations]
    assert [item.slug for item in found] == list(NAMES)
    assert not any(item.settings_json for item in found)
    assert rest.next_page_token == ""


@pytest.mark.parametrize(
    ("slug", "etag", "error"),
    [
        ("uni", "", AlreadyExistsError),
        ("uni", "0" * 32, ConflictError),
        ("new", "0" * 32, NotFoundError),
        ("New!", "", InvalidRequestError),
        ("-new", "", InvalidRequestError),
    ],
)
async def test_an_organisation_is_made_once_and_changed_by_who_read_it(
    accounts: Accounts, slug: str, etag: str, error: type[HeddleError]
) -> None:
    with pytest.raises(error):
        await accounts.put(slug, "{}", etag, only_new=not etag)


async def test_of_two_edits_at_once_one_is_told_of_the_other(accounts: Accounts) -> None:
    etag = (await accounts.organization("uni")).etag
    edits = (accounts.put("uni", json.dumps({"edit": number}), etag) for number in range(5))
    done = await asyncio.gather(*edits, return_exceptions=True)
    assert sorted(type(one).__name__ for one in done) == [
        *["ConflictError"] * 4,
        "PutOrganizationResponse",
    ]


async def test_of_two_makers_at_once_one_makes_it(accounts: Accounts) -> None:
    done = await asyncio.gather(
        *(accounts.put("new", only_new=True) for _ in range(4)), return_exceptions=True
    )
    kinds = sorted(type(one).__name__ for one in done)
    assert kinds == [*["AlreadyExistsError"] * 3, "PutOrganizationResponse"]


async def test_settings_that_are_none_are_shown_as_none_and_can_be_replaced(
    accounts: Accounts, rows: Database
) -> None:
    async with rows.writing() as connection:
        uni = organizations.c.slug == "uni"
        await connection.execute(update(organizations).where(uni).values(config="not-json{"))
    assert await shown(accounts) == {}
    assert (await accounts.settings(organization="uni")).organization == "uni"
    await accounts.replace("uni", '{"a": 1}')
    assert await shown(accounts) == {"a": 1}


@pytest.mark.parametrize(
    "chat",
    [
        "on",
        {"notices": ""},
        {"notice": 1},
        {"notice": "x" * 1_001},
        {"banner": "x" * 501},
        {"link": "javascript:alert(1)"},
        {"frame_hosts": "https://example.org"},
        {"frame_hosts": ["example.org"]},
    ],
)
async def test_wrong_settings_of_the_chat_are_refused(accounts: Accounts, chat: object) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await accounts.replace("uni", json.dumps({"chat": chat}))
    [violation] = refused.value.violations
    assert "'chat'" in violation.description


async def test_what_an_organisation_says_about_the_chat_is_resolved(accounts: Accounts) -> None:
    request = pb.ResolveSettingsRequest(organization="uni")
    for settings, expected in (
        ({}, pb.ChatSettings()),
        (
            {
                "chat": {
                    "notice": "Be kind.",
                    "link": "https://a.example/b",
                    "frame_hosts": "none",
                },
                "retention": {"conversations_days": 0},
            },
            pb.ChatSettings(notice="Be kind.", link="https://a.example/b", stores_nothing=True),
        ),
        (
            {
                "chat": {"frame_hosts": "LMS.example *.uni.example"},
                "retention": {"conversations_days": 3},
            },
            pb.ChatSettings(frame_hosts=["lms.example", "*.uni.example"]),
        ),
        (
            {"chat": {"banner": "Exams!"}, "retention": {"questions_days": 3}},
            pb.ChatSettings(banner="Exams!", questions_read=True),
        ),
    ):
        await accounts.replace("uni", json.dumps(settings))
        resolved = await accounts.call("ResolveSettings", request, SERVICE)
        assert resolved.chat == expected


@pytest.mark.parametrize("telemetry", [False, {"content": "no"}, {"content": 0}])
async def test_a_veto_of_texts_in_traces_that_would_not_count_is_refused(
    accounts: Accounts, telemetry: object
) -> None:
    for settings in ({"telemetry": telemetry}, {"setups": {"default": {"telemetry": telemetry}}}):
        with pytest.raises(InvalidRequestError) as refused:
            await accounts.replace("uni", json.dumps(settings))
        [violation] = refused.value.violations
        assert "'telemetry'" in violation.description
    await accounts.replace("uni", '{"telemetry": {"content": false}}')


@pytest.mark.parametrize(
    ("hosts", "problem"),
    [
        ("https://evil.example", "entry 1, 'https://evil.example', is no host name"),
        ("a.example b.example:80", "entry 2, 'b.example:80', is no host name"),
        (["a.example"], "must be a text"),
    ],
)
async def test_lists_of_hosts_with_wrong_entries_are_refused(
    accounts: Accounts, hosts: object, problem: str
) -> None:
    for settings in ({"output_hosts": hosts}, {"setups": {"default": {"output_hosts": hosts}}}):
        with pytest.raises(InvalidRequestError) as refused:
            await accounts.replace("uni", json.dumps(settings))
        [violation] = refused.value.violations
        assert violation.field == "organization.settings_json"
        assert f"'output_hosts': {problem}" in violation.description
    await accounts.replace("uni", '{"output_hosts": "a.example *.b.example"}')


async def test_the_operators_organisation_exists_from_the_first_moment(database_url: str) -> None:
    for _ in ("first start", "second start"):
        async with serving(database_url) as accounts:
            listed = await accounts.call("ListOrganizations", pb.ListOrganizationsRequest())
            [only] = listed.organizations
            assert (only.slug, only.system) == ("default", True)
            assert (await accounts.organization("default")).organization.name == "default"
            own = await accounts.settings(organization="default")
            assert (own.organization, own.system) == ("default", True)
            assert own.etag
