"""`/studio`: the files of the web application, and their headers."""

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from gateway.accounts import ANN
from gateway.accounts import gateway as organisations
from gateway.conftest import gateway
from heddle_gateway.studio_pages import POLICY

SCRIPT = "_app/immutable/start-0123456789ab.js"
SHELL = "<!doctype html><title>Heddle</title>"
CODE = "start();"
COMPRESSED = gzip.compress(CODE.encode(), mtime=0)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder as `make studio` leaves it, with a secret beside it."""
    folder = tmp_path / "studio"
    script = folder / SCRIPT
    script.parent.mkdir(parents=True)
    script.write_text(CODE)
    script.with_name(f"{script.name}.br").write_text("brotli")
    script.with_name(f"{script.name}.gz").write_bytes(COMPRESSED)
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "shell.html").write_text(SHELL)
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
async def client(built: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A visitor without a key."""
    async with gateway(studio_folder=built) as bench:
        bench.client.headers.pop("authorization")
        yield bench.client


@pytest.mark.parametrize("path", ["/studio", "/studio/", "/studio/assistants/7", "/studio/a.b"])
async def test_every_screen_is_the_shell(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert (response.status_code, response.text) == (200, SHELL)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"


async def test_only_allowed_hosts_show_the_chat_of_an_assistant(
    tmp_path: Path, built: Path
) -> None:
    hosts = {"frame_hosts": "lms.example *.uni.example", "notice": "Be kind."}
    async with organisations(tmp_path, "local", studio_folder=built) as bench:
        for organization in ("default", "uni"):  # that of the assistant, and Ann's
            await bench.organization(organization, chat=hosts)
        redirected = await bench.client.get("/chat/1")
        assert redirected.status_code == 303
        path = redirected.headers["location"]
        for place, expected in (
            (path, "'self' https://lms.example https://*.uni.example"),
            ("/studio/chat/framed/99", "'none'"),
            ("/studio/chat/framed", "'none'"),
        ):
            response = await bench.client.get(place)
            assert (response.status_code, response.text) == (200, SHELL)
            policy = response.headers["content-security-policy"]
            assert f"frame-ancestors {expected};" in policy
        key = (await bench.key(user=ANN)).secret
        me = await bench.client.get("/v1/me", headers={"authorization": f"Bearer {key}"})
        texts = {"notice": "Be kind.", "link": "", "banner": ""}
        assert me.json()["chat"] == {**texts, "stores": True, "questions_read": False}


async def test_all_files_have_the_headers_of_the_policy(client: httpx.AsyncClient) -> None:
    for path in ("", f"/{SCRIPT}", "/icon.svg"):
        headers = (await client.get(f"/studio{path}")).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["vary"] == "accept-encoding"


async def test_files_named_after_their_content_are_cached_for_ever(
    client: httpx.AsyncClient,
) -> None:
    response = await client.get(f"/studio/{SCRIPT}")
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert response.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize(
    ("accepted", "coding", "content"),
    [
        ("gzip, deflate, br", "br", b"brotli"),
        ("gzip, br;q=0", "gzip", COMPRESSED),
        ("GZIP;q=0.5", "gzip", COMPRESSED),
        ("*", "br", b"brotli"),
        ("gzip;q=none", None, CODE.encode()),
        ("identity", None, CODE.encode()),
        ("", None, CODE.encode()),
    ],
)
async def test_files_are_sent_in_a_coding_that_the_client_accepts(
    client: httpx.AsyncClient, accepted: str, coding: str | None, content: bytes
) -> None:
    headers = {"accept-encoding": accepted}
    async with client.stream("GET", f"/studio/{SCRIPT}", headers=headers) as response:
        body = b"".join([part async for part in response.aiter_raw()])
    assert response.headers.get("content-encoding") == coding
    assert body == content


async def test_an_unchanged_file_is_not_sent_again(client: httpx.AsyncClient) -> None:
    etag = (await client.get("/studio")).headers["etag"]
    again = await client.get("/studio", headers={"if-none-match": etag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == etag
    other = await client.get(f"/studio/{SCRIPT}", headers={"if-none-match": etag})
    assert other.status_code == 200


async def test_codings_have_tags_of_their_own(client: httpx.AsyncClient) -> None:
    tags = {
        (await client.head(f"/studio/{SCRIPT}", headers={"accept-encoding": coding})).headers[
            "etag"
        ]
        for coding in ("br", "gzip", "identity")
    }
    assert len(tags) == 3


async def test_head_has_the_headers_of_get_and_no_body(client: httpx.AsyncClient) -> None:
    response = await client.head("/studio")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == str(len(SHELL))


async def test_a_missing_file_of_the_application_is_not_the_shell(
    client: httpx.AsyncClient,
) -> None:
    response = await client.get("/studio/_app/immutable/old.js")
    assert response.status_code == 404
    assert "Load the page again" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/studio/../secret.txt",
        "/studio/%2e%2e/secret.txt",
        "/studio/..%2fsecret.txt",
        "/studio/_app/../../secret.txt",
        "/studio//etc/passwd",
        "/studio/..\\secret.txt",
        "/studio/%00",
        "/studio/_app/immutable/../../../secret.txt",
    ],
)
async def test_no_path_leaves_the_folder(client: httpx.AsyncClient, path: str) -> None:
    request = client.build_request("GET", "/studio")
    request.url = request.url.copy_with(raw_path=path.encode())
    response = await client.send(request)
    assert "secret" not in response.text.replace("secret.txt", "")
    assert response.text == SHELL or response.status_code == 404


async def test_only_reading_is_allowed(client: httpx.AsyncClient) -> None:
    response = await client.post("/studio")
    assert response.status_code == 405


async def test_browsers_are_sent_from_the_root_to_the_studio(client: httpx.AsyncClient) -> None:
    response = await client.get("/", headers={"accept": "text/html,*/*;q=0.8"})
    assert (response.status_code, response.headers["location"]) == (303, "/studio/")
    program = await client.get("/", headers={"accept": "*/*"})
    assert program.status_code == 200
    assert "Heddle" in program.json()["message"]


async def test_a_new_build_is_served_without_a_restart(
    client: httpx.AsyncClient, built: Path
) -> None:
    assert (await client.get("/studio")).text == SHELL
    (built / "shell.html").write_text("<!doctype html>newer")
    assert (await client.get("/studio")).text == "<!doctype html>newer"


async def test_a_missing_build_is_reported_with_the_remedy(tmp_path: Path) -> None:
    async with gateway(studio_folder=tmp_path / "none") as bench:
        response = await bench.client.get("/studio")
        root = await bench.client.get("/", headers={"accept": "text/html"})
    assert response.status_code == 404
    assert "Run `make studio`" in response.json()["error"]["message"]
    assert root.status_code == 303


async def test_the_studio_can_be_switched_off(built: Path) -> None:
    async with gateway(studio_folder=built, studio=False) as bench:
        responses = [await bench.client.get(path) for path in ("/studio", "/studio/icon.svg")]
        root = await bench.client.get("/", headers={"accept": "text/html"})
        health = await bench.client.get("/status")
    assert [response.status_code for response in responses] == [404, 404]
    assert root.status_code == 404
    assert health.status_code == 200
