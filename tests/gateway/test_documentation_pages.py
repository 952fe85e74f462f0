"""`/docs`: the documentation site that `make docs` builds into the gateway's package."""

import base64
import hashlib
from pathlib import Path

import pytest
from gateway.conftest import gateway

SCRIPT = "document.title = 'Run';"
PAGE = f"<!doctype html><title>Run</title><script>{SCRIPT}</script>"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder as `make docs` leaves it, with a secret beside it."""
    folder = tmp_path / "documentation"
    (folder / "guides").mkdir(parents=True)
    (folder / "guides" / "run.html").write_text(PAGE)
    (folder / "index.html").write_text("<!doctype html><title>Heddle</title>")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


async def test_pages_of_the_site_need_no_key_and_run_only_their_own_scripts(built: Path) -> None:
    async with gateway(documentation_folder=built) as bench:
        bench.client.headers.pop("authorization")
        first = await bench.client.get("/docs", follow_redirects=True)
        page = await bench.client.get("/docs/guides/run.html")
        known = {"if-none-match": page.headers["etag"]}
        again = await bench.client.get("/docs/guides/run.html", headers=known)
        outside = await bench.client.get("/docs/..%2Fsecret.txt")
        missing = await bench.client.get("/docs/guides/nothing.html")

    assert (first.url.path, first.status_code) == ("/docs/index.html", 200)
    assert (page.text, again.status_code) == (PAGE, 304)
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = page.headers["content-security-policy"]
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert (outside.status_code, missing.status_code) == (404, 404)
    assert "There is no page guides/nothing.html" in missing.text


async def test_without_the_site_the_page_says_how_to_build_it(tmp_path: Path) -> None:
    async with gateway(documentation_folder=tmp_path) as bench:
        response = await bench.client.get("/docs", follow_redirects=True)
        reference = await bench.client.get("/openapi.json")

    assert response.status_code == 404
    assert "<code>make docs</code>" in response.text
    assert 'href="/openapi.json"' in response.text
    assert reference.status_code == 200


@pytest.mark.parametrize("path", ["", "/guides/run.html"])
async def test_pages_lead_to_a_site_elsewhere(path: str) -> None:
    async with gateway(HEDDLE_DOCUMENTATION_URL="https://docs.example.org/") as bench:
        response = await bench.client.get(f"/docs{path}", follow_redirects=False)

    assert response.status_code == 303
    assert response.headers["location"] == f"https://docs.example.org{path or '/'}"
