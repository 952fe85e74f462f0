"""Documents that the service fetches from servers that users name."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from heddle_knowledge.errors import FetchError
from heddle_knowledge.settings import KnowledgeSettings
from heddle_knowledge.web.fetching import MAX_BYTES, FetchedDocument, WebDocuments
from heddle_knowledge.web.transcripts import Transcripts, video_of
from heddle_runtime.http.egress import (
    MAX_ADDRESS_CHARACTERS,
    SETTING,
    Egress,
    document_address_problem,
)
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.http.web_proxies import WebProxies, proxy_at
from knowledge.web.site import ALLOWED, FORBIDDEN, VIDEO, Site, running_site
from pydantic import ValidationError
from web_proxy import web_proxy


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running_site() as running:
        yield running


async def fetched(site: Site, path: str) -> FetchedDocument:
    url = path if ":" in path else site.url + path
    async with new_client(5.0, Egress([ALLOWED])) as http:
        return await WebDocuments(http, 1.0).fetch(url)


async def test_a_page_is_fetched_also_after_a_redirection(site: Site) -> None:
    for path in ("/page", "/moved"):
        document = await fetched(site, path)
        assert document.data.decode() == site.page
        assert document.media_type.startswith("text/html")
    notes = await fetched(site, "/notes.md")
    assert notes.media_type == "text/markdown"


async def test_a_page_is_fetched_through_the_proxy_and_nothing_private(site: Site) -> None:
    async with web_proxy() as proxy:
        proxies = WebProxies({"http": proxy_at(proxy.url)}, resolve_names=True)
        async with new_client(5.0, Egress([ALLOWED]), proxies=proxies) as http:
            document = await WebDocuments(http, 1.0).fetch(f"{site.url}/moved")
            with pytest.raises(FetchError, match="private network"):
                await WebDocuments(http, 1.0).fetch(f"{site.url}/private")
    assert document.data.decode() == site.page
    assert [each.rpartition("/")[2] for each in proxy.requests] == ["moved", "page"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/private", "private network"),
        ("/private-late", "private network"),
        ("/metadata", "private network"),
        ("/file", "must be an http or https address"),
        ("/odd", "does not answer"),
        ("/password", "must hold no password"),
        ("/loop", "more than 5 times"),
        ("/missing", "answers 404"),
        ("/broken", "answers 500"),
        ("/packed", "compresses"),
        (f"http://{FORBIDDEN}:1/", "private network"),
        ("http://127.0.0.3:80/", "private network"),
        ("http://2130706434/", "private network"),
        ("http://0x7f.2/", "private network"),
        ("http://[::ffff:127.0.0.2]/", "private network"),
        ("http://169.254.169.254/latest/", "private network"),
        ("http://localhost.invalid/", "does not answer"),
        ("file:///etc/passwd", "must be an http or https address"),
        ("gopher://127.0.0.1/", "must be an http or https address"),
    ],
)
async def test_a_hostile_address_is_refused(site: Site, path: str, reason: str) -> None:
    with pytest.raises(FetchError, match=reason):
        await fetched(site, path)
    assert not [each for each in site.requests if each.startswith(FORBIDDEN)]


async def test_a_slow_page_is_not_awaited_for_ever(site: Site) -> None:
    with pytest.raises(FetchError, match="within 1 s"):
        await fetched(site, "/slow")
    async with asyncio.timeout(5):
        await site.cut_short.wait()


async def test_an_endless_page_fails_at_the_limit_of_size(site: Site) -> None:
    async with new_client(5.0, Egress([ALLOWED])) as http:
        with pytest.raises(FetchError, match="more than 30 MiB"):
            await WebDocuments(http, 60).fetch(f"{site.url}/big")
    async with asyncio.timeout(5):
        await site.cut_short.wait()
    assert MAX_BYTES == 30 * 2**20


@pytest.mark.parametrize(
    ("language", "track"),
    [("de", "lang=de"), ("en", "lang=en-GB"), ("eu", "lang=en-GB"), ("", "lang=en-GB")],
)
async def test_the_transcript_is_in_the_preferred_language(
    site: Site, language: str, track: str
) -> None:
    async with new_client(5.0, Egress([ALLOWED])) as http:
        transcripts = Transcripts(WebDocuments(http), site.url)
        data = await transcripts.fetch(f"https://youtu.be/{VIDEO}", language)
    assert data.startswith(b"WEBVTT")
    assert track in site.requests[-1]


async def test_a_video_without_a_transcript_is_an_error(site: Site) -> None:
    async with new_client(5.0, Egress([ALLOWED])) as http:
        with pytest.raises(FetchError, match="offers no transcript"):
            await Transcripts(WebDocuments(http), site.url).fetch(
                "https://youtu.be/AAAAAAAAAAA", ""
            )


@pytest.mark.parametrize(
    "url",
    [
        *("", "looms", "//example.org/", "ftp://example.org/", "javascript:alert(1)", "http://"),
        *("http://example.org:99999/", "http://exa mple.org/", "http://example.org/\r\nHost: a"),
        *("http://example.org/\u2028", "http://ana@example.org/", "http://ana:b@example.org/"),
        f"http://example.org/{'a' * MAX_ADDRESS_CHARACTERS}",
    ],
)
def test_an_address_that_cannot_be_is_refused(url: str) -> None:
    assert document_address_problem(url)


@pytest.mark.parametrize("url", ["http://example.org", "https://example.org:8443/a?b=c#d"])
def test_an_address_of_a_page_is_accepted(url: str) -> None:
    assert document_address_problem(url) == ""


@pytest.mark.parametrize(
    ("url", "video"),
    [
        (f"https://www.youtube.com/watch?v={VIDEO}", VIDEO),
        (f"https://www.youtube.com/watch?t=4&v={VIDEO}&list=x", VIDEO),
        (f"https://youtu.be/{VIDEO}?t=4", VIDEO),
        (f"https://m.youtube.com/shorts/{VIDEO}", VIDEO),
        (f"https://www.youtube-nocookie.com/embed/{VIDEO}", VIDEO),
        (f"https://evil.example/watch?v={VIDEO}", ""),
        (f"https://youtube.com.evil.example/watch?v={VIDEO}", ""),
        ("https://youtu.be/short", ""),
        (f"https://youtu.be/{VIDEO}longer", ""),
    ],
)
def test_videos_are_recognised_by_their_addresses(url: str, video: str) -> None:
    assert video_of(url) == video


def test_networks_of_administrators_are_not_those_of_users() -> None:
    networks = {SETTING: "10.0.0.0/8", "web_networks": "127.0.0.1, 192.168.0.0/16"}
    settings = KnowledgeSettings.model_validate(networks)
    assert [str(each) for each in settings.web_networks] == ["127.0.0.1/32", "192.168.0.0/16"]
    assert not Egress(settings.web_networks).permits("10.1.2.3")
    assert not Egress(KnowledgeSettings.model_validate({}).web_networks).permits("192.168.1.1")
    with pytest.raises(ValidationError, match="is no network such as"):
        KnowledgeSettings.model_validate({"web_networks": "intranet"})
