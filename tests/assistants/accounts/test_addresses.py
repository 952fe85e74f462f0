"""Addresses of servers in private networks, where organisations may have none."""

import json
from itertools import product
from typing import Any

import pytest
from assistants.accounts.conftest import ADMIN, UNI_ADMIN, Accounts, populate, serving
from heddle_assistants.database.schema import organizations
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.http.egress import SETTING
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import update


def openai(url: str, **more: Any) -> str:
    providers = {"openai": {"base_url": url, **more}}
    return json.dumps({"setups": {"default": {"providers": providers}}})


PRIVATE = [
    (openai("http://127.0.0.1:11434/v1"), "providers.openai"),
    (openai("http://169.254.169.254/latest"), "providers.openai"),
    (openai("https://LOCALHOST"), "providers.openai"),
    (openai("http://2130706433"), "providers.openai"),
    (openai("http://[::ffff:10.0.0.1]:80"), "providers.openai"),
    ('{"kb_server": {"url": "http://10.0.0.5:9090"}}', "knowledge_base"),
    ('{"knowledge_store": {"server_url": "http://10.0.0.5:9092"}}', "knowledge_store"),
    ('{"moodle": {"url": "http://192.168.0.1"}}', "moodle"),
]


async def test_an_organisation_has_no_servers_in_private_networks(
    accounts: Accounts, subtests: pytest.Subtests
) -> None:
    before = (await accounts.organization("uni")).etag
    for identity, (settings, name) in product((ADMIN, UNI_ADMIN), PRIVATE):
        with subtests.test(identity=identity.subject, settings=settings):
            with pytest.raises(InvalidRequestError) as refused:
                await accounts.replace("uni", settings, identity)
            [violation] = refused.value.violations
            assert violation.field == "organization.settings_json"
            assert repr(name) in violation.description
            assert SETTING in violation.description
            assert (await accounts.organization("uni")).etag == before


async def test_a_new_organisation_is_looked_at_as_well(accounts: Accounts) -> None:
    with pytest.raises(InvalidRequestError):
        await accounts.put("new", openai("http://127.0.0.1"))


NOT_HTTP = [
    *("file:///etc/passwd", "ftp://files.example", "unix:/run/docker.sock", "x:y"),
    *("javascript:alert(1)", "gopher://8.8.8.8", "//8.8.8.8/v1", "8.8.8.8/v1", "https://"),
    *("http://[broken", "http://:80", "http://8.8.8.8:99999", "ht\ntp://8.8.8.8"),
    *("https://user:s3cret@8.8.8.8/v1", "https://8.8.8.8/v1?key=s3cret", "https://8.8.8.8/#x"),
]


def servers_at(url: str) -> dict[str, str]:
    """Return settings with a server at an address, by the names that errors have for them."""
    return {
        "providers.openai": openai(url),
        "knowledge_base": json.dumps({"kb_server": {"url": url}}),
        "knowledge_store": json.dumps({"knowledge_store": {"server_url": url}}),
        "moodle": json.dumps({"moodle": {"url": url}}),
        "mcp_servers.crm": json.dumps({"mcp_servers": {"crm": {"url": url}}}),
    }


async def test_servers_have_http_addresses_without_credentials(
    accounts: Accounts, subtests: pytest.Subtests
) -> None:
    cases = [(url, *each) for url in NOT_HTTP for each in servers_at(url).items()]
    for number, (url, name, settings) in enumerate(cases):
        slug = ("uni", "default")[number % 2]
        with subtests.test(url=url, name=name):
            with pytest.raises(InvalidRequestError) as refused:
                await accounts.replace(slug, settings)
            [violation] = refused.value.violations
            assert violation.field == "organization.settings_json"
            assert repr(name) in violation.description
            assert "https://models.example.org/v1" in violation.description
            assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("url", ["https://8.8.8.8/v1", "https://not-known.invalid", ""])
async def test_other_addresses_are_kept(accounts: Accounts, url: str) -> None:
    await accounts.replace("uni", openai(url))
    assert (await accounts.settings(organization="uni")).providers["openai"].base_url == url


async def test_those_who_run_the_installation_have_servers_anywhere(accounts: Accounts) -> None:
    url = "http://127.0.0.1:11434"
    await accounts.replace("default", openai(url))
    kept = await accounts.settings(organization="default")
    assert kept.providers["openai"].base_url == url


async def test_the_operator_allows_networks(database_url: str) -> None:
    async with serving(database_url, **{SETTING: "127.0.0.0/8"}) as accounts:
        await populate(accounts)
        await accounts.replace("uni", openai("http://127.0.0.1:11434"))
        with pytest.raises(InvalidRequestError):
            await accounts.replace("uni", openai("http://10.0.0.1:11434"))


async def test_an_address_that_was_there_before_keeps_nobody_from_changing_the_rest(
    accounts: Accounts, rows: Database
) -> None:
    imported = openai("http://127.0.0.1:11434", models=["a"])
    async with rows.writing() as connection:
        query = update(organizations).where(organizations.c.slug == "uni")
        await connection.execute(query.values(config=imported))
    await accounts.replace("uni", openai("http://127.0.0.1:11434", models=["b"]))
    assert (await accounts.settings(organization="uni")).providers["openai"].models == ["b"]
    with pytest.raises(InvalidRequestError):
        await accounts.replace("uni", openai("http://127.0.0.1:11435"))
