"""Signing in with a certified OpenID provider, the npm package `oidc-provider`."""

import asyncio
import hashlib
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path

import httpx
import pytest
import yaml
from gateway.accounts import ANN, Bench, gateway
from integration.browser import browser
from runtime.ports import free_port

SOURCES = Path(__file__).parent / "oidc"
CACHE = Path(__file__).parents[2] / ".heddle" / "oidc-provider"
INSTALL_SECONDS = 120
NODE, NPM = shutil.which("node"), shutil.which("npm")
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(NODE is None or NPM is None, reason="node is not installed"),
    pytest.mark.timeout(240),
]


async def installed() -> Path:
    """Return the provider's folder, its packages installed as locked. It is used again."""
    files = [SOURCES / name for name in ("package.json", "package-lock.json", "provider.mjs")]
    folder = CACHE / hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    done = folder / "installed"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copy(path, folder)
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        process = await asyncio.create_subprocess_exec(str(NPM), "ci", *quiet, cwd=folder)
        assert await asyncio.wait_for(process.wait(), INSTALL_SECONDS) == 0
        done.touch()
    return folder


@asynccontextmanager
async def provider(redirect_uri: str) -> AsyncIterator[str]:
    """Run the provider, and yield its issuer."""
    folder, port = await installed(), free_port()
    process = await asyncio.create_subprocess_exec(
        *(str(NODE), "provider.mjs", str(port), redirect_uri),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        while b"ready" not in (line := await process.stdout.readline()):
            assert line, "the provider does not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        await process.wait()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[tuple[Bench, str]]:
    """A gateway with the provider, and the address at which browsers find the gateway."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    file = tmp_path / "providers.yaml"
    async with provider(f"{address}/login/oidc/uni/callback") as issuer:
        entry = {
            "id": "uni",
            "title": "The University",
            "issuer": issuer,
            "client_id": "heddle",
            "client_secret": "a-secret-of-the-client",
        }
        file.write_text(yaml.safe_dump([entry]))
        async with gateway(
            tmp_path,
            "local",
            listen=f"127.0.0.1:{port}",
            oidc_providers=file,
            HEDDLE_ALLOWED_PRIVATE_NETWORKS="127.0.0.0/8",
        ) as running:
            yield running, address


async def sign_in(client: httpx.AsyncClient, address: str, email: str) -> httpx.Response:
    """Sign in as a user does: follow links, fill in the form of the provider, consent."""
    response = await client.get(f"{address}/login/oidc/uni?return_to=/v1/me")
    for _ in range(12):
        if response.is_redirect:
            location = response.next_request
            assert location is not None
            response = await client.send(location)
            continue
        form = re.search(r'<form[^>]*action="([^"]+)"', response.text)
        if form is None:
            return response
        fields = dict(re.findall(r'name="prompt" value="(login|consent)"()', response.text))
        [prompt] = fields
        data = {"prompt": prompt, "login": email, "password": "any"}
        response = await client.post(unescape(form[1]), data=data)
    raise AssertionError("the provider does not come to an end")


async def test_a_user_of_a_certified_provider_signs_in(bench: tuple[Bench, str]) -> None:
    running, address = bench
    ways = (await running.client.get("/login")).json()
    assert ways["oidc"] == [{"id": "uni", "title": "The University"}]
    async with browser() as client:
        page = await sign_in(client, address, ANN)
        assert page.status_code == 200, page.text
        assert 'content="0; url=/v1/me"' in page.text
        me = (await client.get(f"{address}/v1/me")).json()
        assert (me["email"], me["authentication"]) == (ANN, "session")
        assert "heddle_oidc" not in client.cookies


@pytest.mark.parametrize("email", ["nobody@uni.example", "new@uni.example"])
async def test_an_unknown_or_unverified_user_gets_no_session(
    bench: tuple[Bench, str], email: str
) -> None:
    running, address = bench
    await running.user("new@uni.example")
    async with browser() as client:
        page = await sign_in(client, address, email)
        assert page.status_code == 403
        assert "heddle_session" not in client.cookies
