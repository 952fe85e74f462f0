"""The sources of an answer, each once, for the citations of all protocols."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from heddle.tool.v1.tool_pb2 import Source

from heddle_gateway.openai.chat.open_webui_events import WEB


class Citation(NamedTuple):
    """A source that clients can show."""

    title: str
    text: str
    """The first passage."""
    url: str = ""
    """Its web address; empty for other sources."""
    file: str = ""
    """The identifier of the file of a source without a web address, else its title."""


def citations(sources: Sequence[Source]) -> list[Citation]:
    """Return the sources with a web address, each address once, and then the other files."""
    cited: dict[tuple[bool, str], Citation] = {}
    for each in sources:
        if each.uri.startswith(WEB):
            citation = Citation(each.title or each.uri, each.excerpt, url=each.uri)
        elif each.title:
            citation = Citation(each.title, each.excerpt, file=file_id(each))
        else:
            continue
        cited.setdefault((not citation.url, citation.url or citation.file), citation)
    return [cited[key] for key in sorted(cited, key=lambda key: key[0])]


def annotations(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return OpenAI's citations of the sources that have a web address."""
    return [
        {"type": "url_citation", "url_citation": web_citation(each)}
        for each in citations(sources)
        if each.url
    ]


def web_citation(citation: Citation) -> dict[str, Any]:
    """Return OpenAI's members of a citation. Its position is unknown, so the range is empty."""
    return {"url": citation.url, "title": citation.title, "start_index": 0, "end_index": 0}


def file_id(source: Source) -> str:
    """Return the identifier of the file of a source, or its title."""
    attributes = source.attributes
    return attributes.get("file_id") or attributes.get("document_id") or source.title
