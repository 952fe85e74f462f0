"""The tool that looks books up, with a catalogue that answers as Open Library does."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from examples.example_heddle import example
from heddle_runtime.http.egress import SETTING
from integration.whole import write_assistant
from web_server import web_server

TOOL = "plugins/library_catalogue.py"
AWAY = "The server behind the tool 'library_catalogue' does not answer."
BOOKS = {
    "numFound": 2,
    "start": 0,
    "docs": [
        {
            "key": "/works/OL1W",
            "title": "The Key to Weaving",
            "author_name": ["Mary E. Black"],
            "first_publish_year": 1945,
        },
        {"key": "/works/OL2W", "title": "Looms"},
    ],
}


@pytest.mark.exhaustive
async def test_it_lists_books_and_says_when_there_are_none_or_no_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, "127.0.0.0/8")
    queries: list[dict[str, str]] = []
    documents: list[Any] = [BOOKS, {"numFound": 0, "start": 0, "docs": []}, None]

    async def search(request: web.BaseRequest) -> web.StreamResponse:
        assert request.path == "/search.json"
        queries.append(dict(request.query))
        content = documents[len(queries) - 1]
        return web.json_response(content, status=200 if content else 503)

    async with web_server(search) as url:
        write_assistant(
            tmp_path,
            "books",
            "model: {connector: bypass, model: simple-bypass}\n"
            "prompt_template: 'Books: {books}'\n"
            f"tools: [{{type: library_catalogue, config: {{url: '{url}/', limit: 2}}}}]\n",
        )
        async with example(tmp_path, TOOL) as heddle:
            listed = await heddle.streamed("books", "weaving")
            nothing = await heddle.streamed("books", "no such book")
            away = await heddle.streamed("books", "weaving")

    assert queries[0] == {
        "q": "weaving",
        "limit": "2",
        "fields": "key,title,author_name,first_publish_year",
    }
    assert listed.text.split("\n\n")[1] == (
        "The Key to Weaving, by Mary E. Black, 1945\nLooms, by unknown author, undated"
    )
    assert "The library catalogue has no book for 'no such book'." in nothing.text
    assert f"The tool library_catalogue failed: {AWAY}" in away.text
    assert away.warnings[0].startswith(f"library_catalogue failed: {AWAY}")
