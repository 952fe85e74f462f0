"""The tool that formats references, with a registry of DOIs that answers as doi.org does."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from aiohttp import web
from examples.serving import plugin
from heddle_runtime.http.egress import SETTING
from web_server import web_server

DOI = "10.1126/science.169.3946.635"
REFERENCE = "Frank, H. S. (1970). The Structure of Ordinary Water. Science, 169(3946), 635-641."


@pytest.fixture
async def registry(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[str]:
    """Yield the address of a resolver that sends known DOIs on to their agency."""
    monkeypatch.setenv(SETTING, "127.0.0.0/8")

    async def resolve(request: web.Request) -> web.Response:
        if request.match_info["doi"] == DOI:
            raise web.HTTPFound("/agency")
        return web.Response(status=404, text="DOI Not Found", content_type="text/html")

    async def transform(request: web.Request) -> web.Response:
        style = request.headers["accept"].partition("style=")[2]
        return web.Response(text=f"{REFERENCE} ({style})\n", content_type="text/x-bibliography")

    app = web.Application()
    app.add_routes([web.get("/agency", transform), web.get("/{doi:10.*}", resolve)])
    async with web_server(app) as url:
        yield url


async def test_each_doi_becomes_a_reference_or_a_warning(tmp_path: Path, registry: str) -> None:
    async with plugin(tmp_path, "citation") as run:
        config = {"resolver": registry, "style": "ieee"}
        outcome = await run(question=f"See {DOI}, and 10.1000/unknown.", config=config)
        nothing = await run(arguments={"query": "No number here."}, config=config)
        away = await run(question=DOI, config={"resolver": "http://127.0.0.1:1"})

    missing = "There is no reference for the DOI 10.1000/unknown."
    assert outcome["text"] == f"{REFERENCE} (ieee)\n{missing}"
    assert outcome["warnings"] == [missing]
    [source] = outcome["sources"]
    assert source["uri"] == f"https://doi.org/{DOI}"
    assert nothing["text"] == ""
    assert "does not answer. Try again later." in away["error"]["message"]
