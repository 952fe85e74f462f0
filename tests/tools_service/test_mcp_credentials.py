"""What opens MCP servers: sent where it belongs, and told to nobody."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from heddle.account.v1 import account_pb2
from runtime.accounts import Accounts
from structlog.testing import capture_logs
from tools_service.calling import Calling, calling_tools
from tools_service.mcp_calling import accepted, answer, called, failure, listed
from tools_service.mcp_sites import Library, library
from tools_service.serving import text_of

TOKEN = "secret-of-the-library-1"


@pytest.fixture
async def site() -> AsyncIterator[Library]:
    async with library() as made:
        yield made


@pytest.fixture
async def accounts(site: Library) -> Accounts:
    made = Accounts()  # type: ignore[abstract] # it does not offer every method
    made.add("uni", mcp_servers={"lib": account_pb2.McpServer(url=site.url, token=TOKEN)})
    made.add("poor")
    return made


@pytest.fixture
async def tools(accounts: Accounts, tmp_path: Path) -> AsyncIterator[Calling]:
    async with calling_tools(tmp_path, accounts) as calling:
        yield calling


async def test_a_credential_reaches_its_server_and_nothing_else(
    tools: Calling, site: Library
) -> None:
    config = await accepted(tools, site, "tell", credential="lib")
    site.authorizations.clear()
    with capture_logs() as logs:
        [found] = await listed(tools, config)
        event = await called(tools, config, "tell")

    assert set(site.authorizations) == {f"Bearer {TOKEN}"}
    assert text_of(event.result) == "it is Bearer [redacted]"
    for place in (found, event, logs):
        assert TOKEN not in str(place)


async def test_a_credential_is_not_sent_where_a_binding_wants_it(
    tools: Calling, site: Library
) -> None:
    async with library() as thief:
        config = await accepted(tools, site, "tell", credential="lib")
        for url in (thief.url, f"{site.url}/x", site.url.replace("127.0.0.1", "localhost")):
            error = await failure(tools, {**config, "url": url}, "tell")
            assert error.metadata["kind"] == "foreign_credential"
            assert TOKEN not in str(error)
        assert not thief.authorizations


async def test_an_assistant_has_no_credential_of_another_organisation(
    tools: Calling, site: Library
) -> None:
    config = await accepted(tools, site, "tell", credential="lib")
    site.authorizations.clear()

    error = await failure(tools, config, "tell", organization="poor")

    assert error.metadata["kind"] == "unknown_credential"
    assert "has no credential 'lib'" in error.message
    assert not site.authorizations


async def test_an_assistant_of_nobodys_is_the_operators(
    tools: Calling, site: Library, accounts: Accounts
) -> None:
    config = await accepted(tools, site, "tell", credential="lib")
    server = account_pb2.McpServer(url=site.url, token="of-the-operator")
    accounts.add("default", system=True, mcp_servers={"lib": server})

    told = await answer(tools, config, "tell", organization="")

    assert told == "it is Bearer [redacted]"
    assert site.authorizations[-1] == "Bearer of-the-operator"
