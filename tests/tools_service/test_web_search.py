"""The tool `web_search`, through the whole service, against servers that speak as the providers."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from heddle.account.v1 import account_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, ToolFailedError, UnavailableError
from heddle_runtime.http.egress import SETTING
from runtime.accounts import Accounts
from structlog.testing import capture_logs
from tools_service.calling import Calling, calling_tools
from tools_service.search_sites import PROVIDERS, URL, SearchSites, search_sites, where
from tools_service.serving import invocation, said, text_of

OF_UNI = said("What is a shed?", organization="uni")


@pytest.fixture
async def sites() -> AsyncIterator[SearchSites]:
    async with search_sites() as made:
        yield made


def organisation(sites: SearchSites, *names: str, **more: Any) -> Accounts:
    """Return accounts where `uni` has set up the providers called `names`."""
    accounts = Accounts()  # type: ignore[abstract] # it does not offer every method
    providers = {
        name: account_pb2.Provider(
            **{
                "base_url": where(name, sites),
                "api_key": "" if name == "searxng" else sites.key,
                "enabled": True,
                **more,
            }
        )
        for name in names
    }
    accounts.add("uni", providers=providers)
    accounts.add("poor")
    accounts.add("default", system=True)
    return accounts


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def tools(provider: str, sites: SearchSites, tmp_path: Path) -> AsyncIterator[Calling]:
    accounts = organisation(sites, provider)
    async with calling_tools(tmp_path, accounts) as calling:
        yield calling


async def search(tools: Calling, query: str = "sheds") -> pb.ToolResult:
    return await tools.call("web_search", "web_search", context=OF_UNI, query=query)


async def refused(tools: Calling) -> HeddleError:
    return await tools.failure("web_search", "web_search", context=OF_UNI, query="sheds")


async def test_every_provider_finds_pages_and_what_they_say(
    tools: Calling, provider: str, sites: SearchSites
) -> None:
    result = await search(tools)

    told = json.loads(text_of(result))
    assert set(told) == {"answer", "results", "citations"}
    first = told["results"][0]
    assert (first["title"], first["url"]) == ("Sheds", URL)
    assert first["snippet"] == ("The gap & more." if provider == "brave" else "The gap.")
    assert told["citations"][0] == URL
    assert told["answer"].startswith("A shed is a gap") is (provider != "brave")
    assert (result.sources[0].title, result.sources[0].uri) == ("Sheds", URL)
    assert result.metadata["provider"] == provider
    [asked] = sites.requests
    sent = asked.query.get("q") or json.dumps(sites.bodies[0])
    assert "sheds" in sent


async def test_nothing_found_is_no_failure(tools: Calling, sites: SearchSites) -> None:
    sites.nothing = True
    told = json.loads(text_of(await search(tools)))
    assert told["results"] == []
    assert told["citations"] == []


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_told_and_not_repeated(
    tools: Calling, sites: SearchSites, status: int
) -> None:
    sites.answer = status
    error = await refused(tools)
    assert isinstance(error, ToolFailedError)
    assert error.message.endswith(f"refuses the key ({status}).")
    assert error.metadata["kind"] == "key_refused"


async def test_a_wrong_key_is_told_without_any_key(
    provider: str, sites: SearchSites, tmp_path: Path
) -> None:
    if provider == "searxng":
        pytest.skip("it needs no key")
    wrong = "wrong-key-of-this-organisation"
    accounts = organisation(sites, provider, api_key=wrong)
    sites.key = f"not {wrong}"  # the error repeats this
    with capture_logs() as logs:
        async with calling_tools(tmp_path, accounts) as calling:
            error = await refused(calling)
    assert isinstance(error, ToolFailedError)
    assert wrong not in f"{error!r} {error.message} {error.metadata} {logs}"


@pytest.mark.parametrize(
    ("status", "headers", "ending"),
    [
        (429, {"Retry-After": "30"}, "answered 429: ask again in 30 s."),
        (429, {}, "answered 429."),
        (429, {"Retry-After": "Bearer x"}, "answered 429."),
        (500, {}, "answered 500."),
        (503, {"Retry-After": "5"}, "answered 503: ask again in 5 s."),
    ],
)
async def test_a_provider_that_cannot_answer_now_is_told(
    tools: Calling, sites: SearchSites, status: int, headers: dict[str, str], ending: str
) -> None:
    sites.answer, sites.headers = status, headers
    error = await refused(tools)
    assert isinstance(error, UnavailableError)
    assert error.message.endswith(ending)
    assert len(sites.requests) == 1


async def test_a_refusal_is_told_with_its_reason_without_the_key(
    tools: Calling, provider: str, sites: SearchSites
) -> None:
    sites.answer = 400
    error = await refused(tools)
    assert isinstance(error, ToolFailedError)
    shown = "Cannot serve" if provider == "searxng" else "Cannot serve [redacted]"
    assert f"refuses the search (400): {shown}" in error.message
    if provider != "searxng":
        assert sites.key not in error.message


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b"5",
        b'{"results": 5, "search_results": 5, "web": 5}',
        b'{"web": {"results": 5}, "results": "x", "choices": {"a": 1}}',
        b"[" * 40_000,
    ],
)
async def test_nonsense_is_told(tools: Calling, sites: SearchSites, body: bytes) -> None:
    sites.answer = body
    error = await refused(tools)
    assert isinstance(error, ToolFailedError)
    assert "cannot be read" in error.message


async def test_entries_that_are_none_are_left_out(tools: Calling, sites: SearchSites) -> None:
    entries = [5, None, {}, {"url": 5}, {"url": "javascript:alert(1)"}, {"url": "http://[/"}]
    good = {"url": URL, "title": None}
    sites.answer = json.dumps(
        {
            "results": [*entries, good, good],
            "search_results": [*entries, good, good],
            "web": {"results": [*entries, good, good]},
            "choices": [5, {"message": 5}, {"message": {"content": 5}}],
            "citations": [5, "javascript:alert(1)", URL],
            "answers": [5],
        }
    ).encode()

    told = json.loads(text_of(await search(tools)))

    assert told["results"] == [{"title": URL, "url": URL, "snippet": ""}]
    assert told["citations"] == [URL]


async def test_a_slow_provider_is_told(provider: str, sites: SearchSites, tmp_path: Path) -> None:
    sites.delay = 60
    accounts = organisation(sites, provider)
    async with calling_tools(tmp_path, accounts, http_timeout=0.5) as tools:
        error = await refused(tools)
    assert isinstance(error, UnavailableError)
    assert error.message.endswith("did not answer in time.")


async def test_a_key_does_not_follow_a_redirect(tools: Calling, sites: SearchSites) -> None:
    async with search_sites() as thief:
        sites.answer, sites.headers = 307, {"Location": f"{thief.url}/search"}
        error = await refused(tools)
        assert "redirects (307)" in error.message
        assert not thief.requests


async def offered(tools: Calling, context: str = "uni", **config: Any) -> list[str]:
    request = pb.ListFunctionsRequest(
        invocations=[invocation("1", "web_search", config)],
        assistant=said("", organization=context).assistant,
    )
    listed = await tools.client.stub.ListFunctions(request, timeout=10)
    [found] = listed.functions
    assert not found.HasField("error"), found
    return [function.name for function in found.functions]


async def test_it_is_offered_only_where_a_provider_is_set_up(tools: Calling, provider: str) -> None:
    others = [each for each in PROVIDERS if each != provider]
    assert await offered(tools) == ["web_search"]
    assert await offered(tools, provider=provider) == ["web_search"]
    assert await offered(tools, provider=others[0]) == []
    assert await offered(tools, "poor") == []


async def test_a_provider_that_is_switched_off_or_has_no_key_is_not_set_up(
    sites: SearchSites, tmp_path: Path
) -> None:
    for more in ({"enabled": False}, {"api_key": ""}):
        accounts = organisation(sites, "perplexity", "tavily", "brave", **more)
        async with calling_tools(tmp_path, accounts) as calling:
            assert await offered(calling) == []
            error = await refused(calling)
        assert error.metadata["kind"] == "not_configured"
        assert error.message.startswith("Web search is not set up here.")
    assert not sites.requests


async def test_the_preferred_provider_is_asked_unless_the_author_says_otherwise(
    sites: SearchSites, tmp_path: Path
) -> None:
    async with calling_tools(tmp_path, organisation(sites, *PROVIDERS)) as calling:
        for config, used in (({}, "perplexity"), ({"provider": "brave"}, "brave")):
            event = await calling.event(invocation("1", "web_search", config), OF_UNI)
            assert event.result.metadata["provider"] == used


async def test_an_organisations_provider_in_a_private_network_is_not_reached(
    sites: SearchSites, tmp_path: Path
) -> None:
    accounts = organisation(sites, "searxng")
    async with calling_tools(tmp_path, accounts, **{SETTING: ""}) as calling:
        error = await refused(calling)
    assert "private network" in error.message
    assert not sites.requests


@pytest.mark.parametrize("shared", [True, False])
async def test_the_operators_key_is_for_the_operators_assistants_unless_he_shares_it(
    sites: SearchSites, tmp_path: Path, *, shared: bool
) -> None:
    accounts = organisation(sites)
    more = {"web_search_searxng_url": sites.url, "web_search_shared": shared, SETTING: ""}
    async with calling_tools(tmp_path, accounts, **more) as calling:
        assert await offered(calling, "default") == ["web_search"]
        assert bool(await offered(calling, "poor")) is shared
        event = await calling.event(invocation("1", "web_search", {}), said("sheds"))
    assert event.HasField("result")  # though it is inside: it is the operator's


async def test_in_a_slot_it_is_text_with_numbered_pages(sites: SearchSites, tmp_path: Path) -> None:
    async with calling_tools(tmp_path, organisation(sites, "perplexity")) as calling:
        event = await calling.event(invocation("1", "web_search", {}), OF_UNI)
    assert text_of(event.result) == (
        f"A shed is a gap[1].\n\n[1] Sheds\n{URL}\nThe gap.\n\n"
        "[2] Looms\nhttps://weave.example/looms"
    )
    assert "What is a shed?" in json.dumps(sites.bodies)


async def test_without_a_question_nobody_is_asked(sites: SearchSites, tmp_path: Path) -> None:
    async with calling_tools(tmp_path, organisation(sites, "perplexity")) as calling:
        event = await calling.event(invocation("1", "web_search", {}), said("", organization="uni"))
    assert event.HasField("error")
    assert not sites.requests
