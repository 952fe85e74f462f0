"""The pages of a web site: those that its sitemap names, and those that links lead to."""

import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from mimetypes import guess_type
from pathlib import PurePosixPath
from time import sleep
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree as ET

from heddle_runtime.errors import InvalidRequestError

from heddle_cli.documents import NO_TYPE, READABLE
from heddle_cli.ingestion import MAX_BYTES
from heddle_cli.sources.fetching import AGENT, Fetched, FetchError, fetch, origin

_PAGES = 5_000
"""Pages of one site that the command reads."""
_SITEMAPS = 100
"""Sitemaps of one site that it reads."""
_LONGEST_DELAY = 10.0
"""Seconds that the command waits between pages if a site asks for that or more."""
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_MEDIA = ("image/", "video/", "audio/", "font/")
_GZIP = b"\x1f\x8b"
_WITH_GZIP_HEADER = 31


def pages_of(start: str, depth: int, most: int = _PAGES) -> Iterator[Fetched]:
    """Yield the pages and documents in the folder of an address, as robots.txt permits.

    Args:
        start: The first page.
        depth: How many links may lead to a page from there; pages of the sitemap count as first.
        most: Pages at most.

    Raises:
        InvalidRequestError: The site cannot be read, or its robots.txt forbids the first page.
    """
    rules = _rules(start)
    if not rules.can_fetch(AGENT, start):
        raise InvalidRequestError(f"The robots.txt of {start} asks not to read it.")
    pause = min(float(rules.crawl_delay(AGENT) or 0), _LONGEST_DELAY)
    below = urljoin(start, ".") if urlsplit(start).path else f"{start}/"

    def may_read(url: str) -> bool:
        kind = guess_type(urlsplit(url).path)[0] or ""
        in_folder = url.startswith(below) and not kind.startswith(_MEDIA)
        return in_folder and rules.can_fetch(AGENT, url)

    known = dict.fromkeys([start, *filter(may_read, _listed(start, rules))], 0)
    names: set[str] = set()
    for number, url in enumerate(_growing(known)):
        if number >= most:
            yield Fetched(url, problem=f"more than {most:,} pages")
            return
        sleep(pause if number else 0.0)
        page, links = _read(url)
        if known[url] < depth:
            for link in filter(may_read, links):
                known.setdefault(link, known[url] + 1)
        if page.name not in names:
            names.add(page.name)
            yield page


def _read(url: str) -> tuple[Fetched, list[str]]:
    """Return the document at an address, and the addresses that it links to."""
    try:
        data, header, final = fetch(url)
    except FetchError as error:
        return Fetched(_name(url), problem=str(error), counts=not error.is_gone), []
    name, kind = _name(final), header.get_content_type()
    if kind not in _PAGE_TYPES:
        if PurePosixPath(urlsplit(final).path).suffix.lower() not in READABLE:
            return Fetched(name, problem=NO_TYPE, counts=False), []
        return Fetched(name, data, header.get("content-type", ""), final), []
    page = _Page(final)
    page.feed(data.decode(header.get_content_charset("utf-8"), "replace"))
    if page.is_hidden:
        return Fetched(name, problem="asks to be in no index", counts=False), page.links
    return Fetched(name, data, header.get("content-type", ""), final), page.links


def _growing(known: dict[str, int]) -> Iterator[str]:
    """Yield keys, also those that come while others are used."""
    done = 0
    while done < len(known):
        new = list(known)[done:]
        done = len(known)
        yield from new


def _rules(start: str) -> RobotFileParser:
    rules = RobotFileParser()
    try:
        data, _, _ = fetch(urljoin(start, "/robots.txt"))
        rules.parse(data.decode("utf-8", "replace").splitlines())
    except FetchError as error:
        if not error.is_gone:
            raise InvalidRequestError(f"{start} cannot be read: {error}.") from error
        rules.parse([])
    return rules


def _listed(start: str, rules: RobotFileParser) -> Iterator[str]:
    """Yield the addresses in the sitemaps of a site.

    Raises:
        InvalidRequestError: One cannot be read at the moment: its pages would count as gone.
    """
    maps = dict.fromkeys(rules.site_maps() or [urljoin(start, "/sitemap.xml")], 0)
    for number, url in enumerate(_growing(maps)):
        if number >= _SITEMAPS or origin(url) != origin(start):
            continue
        try:
            data = fetch(url)[0]
            if data.startswith(_GZIP):
                data = zlib.decompressobj(_WITH_GZIP_HEADER).decompress(data, MAX_BYTES)
            tree = ET.fromstring(data)  # noqa: S314 - expat bounds entities
        except FetchError as error:
            if not error.is_gone:
                raise InvalidRequestError(f"The sitemap cannot be read: {error}.") from error
            continue
        except (ET.ParseError, zlib.error):
            continue  # links lead to pages, too
        places = [(each.text or "").strip() for each in tree.iterfind("{*}*/{*}loc")]
        if tree.tag.endswith("sitemapindex"):
            maps.update(dict.fromkeys(places, 0))
        else:
            yield from (urldefrag(each).url for each in places)


def _name(url: str) -> str:
    """Return the name of a page: its host and path, `index.html` for a folder."""
    parts = urlsplit(url)
    path = unquote(parts.path) or "/"
    path += "index.html" if path.endswith("/") else ""
    return f"{parts.netloc}{path}{f'?{parts.query}' if parts.query else ''}"


class _Page(HTMLParser):
    """The links of a page, and whether it wants to be in no index."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.is_hidden = False
        self._base = url

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link, the address that links are relative to, or a rule for robots."""
        values = {name: value or "" for name, value in attrs}
        address = values.get("href", "")
        try:
            place = urldefrag(urljoin(self._base, address)).url
        except ValueError:  # a bracket that is no address of IPv6
            return
        if tag == "base" and address:
            self._base = place
        elif tag == "a" and address and "nofollow" not in values.get("rel", ""):
            self.links.append(place)
        elif tag == "meta" and values.get("name", "").lower() == "robots":
            self.is_hidden = "noindex" in values.get("content", "").lower()
