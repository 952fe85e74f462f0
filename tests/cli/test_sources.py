"""`heddle ingest` of web sites, repositories and courses: what is read, what counts as gone."""

import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from cli.conftest import Run
from cli.serving import Services
from heddle_cli.commands.ingest import repeat
from heddle_cli.sources.website import pages_of
from heddle_runtime.errors import UnavailableError

TOKEN = "a token of web services"
Answer = tuple[int, str, bytes]


class Server(ThreadingHTTPServer):
    """Answers paths from a table; `MOODLE` stands for the web services of a course."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, str | Answer] = {}
        self.requested: list[str] = []
        self.files: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str, form: dict[str, list[str]]) -> Answer:
        """Return a page, or what Moodle's web-service functions return."""
        self.requested.append(path)
        if path == "/webservice/rest/server.php":
            return self._contents(form)
        if path.startswith("/webservice/pluginfile.php/") and form.get("token") == [TOKEN]:
            return 200, "text/markdown", self.files[path.rpartition("/")[2]].encode()
        page = self.pages.get(path, (404, "text/plain", b"no"))
        if isinstance(page, tuple):
            return page
        return 200, "application/xml" if path.endswith(".xml") else "text/html", page.encode()

    def _contents(self, form: dict[str, list[str]]) -> Answer:
        fields = {name: values[0] for name, values in form.items()}
        if fields["wstoken"] != TOKEN or fields["courseid"] != "5":
            return 200, "application/json", b'{"exception": "x", "message": "Invalid token"}'
        assert fields["wsfunction"] == "core_course_get_contents"
        files = ",".join(
            f'{{"type": "file", "filename": "{name}", "filepath": "/",'
            f' "fileurl": "{self.url}/webservice/pluginfile.php/1/{name}"}}'
            for name in self.files
        )
        module = f'{{"id": 7, "url": "{self.url}/mod/folder/view.php?id=7", "contents": [{files}]}}'
        return 200, "application/json", f'[{{"modules": [{module}, {{"id": 8}}]}}]'.encode()


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        form = parse_qs(self.rfile.read(size).decode())
        status, kind, body = self.server.answer(urlsplit(self.path).path, form)
        self.send_response(status)
        self.send_header("Location" if status in {301, 302} else "Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name that the library calls

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def synced(heddle: Run, source: str, *options: str) -> tuple[int, list[str], str]:
    code, out, notes = heddle("ingest", "--sync", source, "--collection", "kb", *options)
    return code, out.splitlines(), notes


def test_a_collection_follows_a_web_site(services: Services, heddle: Run, server: Server) -> None:
    host = server.url.removeprefix("http://")
    server.pages |= {
        "/robots.txt": "User-agent: *\nDisallow: /docs/private\n",
        "/sitemap.xml": f"<urlset xmlns='s'><url><loc>{server.url}/docs/mapped</loc></url>"
        "</urlset>",
        "/docs/": "<a href=a.html#top>A</a><a href='private/x'>X</a><a href=/other>O</a>"
        "<a href=loom.png>picture</a><a href=http://elsewhere.test/docs/>E</a><a href=moved>M</a>",
        "/docs/a.html": "<a href=b>B</a>",
        "/docs/b": "<a href=c>C</a>",
        "/docs/c": "too deep",
        "/docs/mapped": "<meta name=robots content=noindex>",
        "/docs/moved": (302, "http://elsewhere.test/", b""),
    }

    code, out, _ = synced(heddle, f"{server.url}/docs/", "--depth", "2")

    assert code == 0
    assert out == [
        f"skipped     {host}/docs/mapped: asks to be in no index",
        f"skipped     {host}/docs/moved: it redirects to another server",
        f"new         {host}/docs/index.html: 2 passages",
        f"new         {host}/docs/a.html: 2 passages",
        f"new         {host}/docs/b: 2 passages",
        "kb: 3 documents (3 new); 2 files skipped",
    ]
    assert set(services.knowledge.media_types.values()) == {"text/html"}
    assert {"/docs/private/x", "/other", "/docs/loom.png"}.isdisjoint(server.requested)
    del server.pages["/docs/b"]
    assert synced(heddle, f"{server.url}/docs/")[1][-2:] == [
        f"removed     {host}/docs/b: its file is gone",
        "kb: 3 documents (2 unchanged, 1 removed); 3 files skipped",
    ]
    server.pages["/docs/a.html"] = (500, "text/plain", b"")
    _, out, notes = synced(heddle, f"{server.url}/docs/")
    assert "removed" not in "\n".join(out)
    assert "Nothing was removed: not all of the source could be read." in notes


@pytest.mark.usefixtures("services")
@pytest.mark.parametrize(
    ("pages", "problem"),
    [
        ({"/robots.txt": "User-agent: heddle-ingest\nDisallow: /"}, "asks not to read it"),
        ({"/robots.txt": (503, "text/plain", b"")}, "status 503"),
        ({"/sitemap.xml": (503, "text/plain", b"")}, "The sitemap cannot be read: status 503"),
        ({}, "no document that can be read: "),
    ],
)
def test_a_site_that_is_not_to_be_read_changes_nothing(
    heddle: Run, server: Server, pages: dict[str, str | Answer], problem: str
) -> None:
    server.pages = pages

    code, out, notes = synced(heddle, server.url)

    assert (code, out) == (1, [])
    assert problem in notes


def test_a_site_has_limits(server: Server) -> None:
    server.pages["/"] = "".join(f"<a href={number}>" for number in range(5))
    server.pages |= {f"/{number}": "page" for number in range(5)}

    pages = list(pages_of(f"{server.url}/", 1, most=2))

    assert [each.problem for each in pages] == ["", "", "more than 2 pages"]


def test_a_collection_follows_a_repository(services: Services, heddle: Run, tmp_path: Path) -> None:
    origin = tmp_path / "origin"

    def git(*arguments: str) -> None:
        settings = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        command = ["git", *settings, *arguments]
        subprocess.run(command, cwd=origin, check=True, capture_output=True)  # noqa: S603 - fixed

    origin.mkdir()
    git("init", "-b", "main")
    (origin / "a.md").write_text("# A")
    (origin / "b.md").write_text("# B")
    git("add", ".")
    git("commit", "-m", "first")
    source = f"git+file://{origin}#main"

    assert synced(heddle, source)[1][-1] == "kb: 2 documents (2 new)"
    git("rm", "b.md")
    git("commit", "-m", "second")
    assert synced(heddle, source)[1] == [
        "unchanged   a.md: 2 passages",
        "removed     b.md: its file is gone",
        "kb: 2 documents (1 unchanged, 1 removed)",
    ]
    code, _, notes = synced(heddle, f"git+file://{tmp_path}/none")
    assert (code, "cannot be cloned" in notes) == (1, True)
    assert synced(heddle, "git+ext::sh -c true")[0] == 1
    assert set(services.knowledge.collections["kb"]) == {"a.md"}


def test_a_collection_follows_a_course(services: Services, heddle: Run, server: Server) -> None:
    server.files = {"week1.md": "# Warp", "week2.md": "# Weft", "film.mp4": ""}
    token = ("--moodle-token", TOKEN)

    code, out, _ = synced(heddle, f"moodle+{server.url}#5", *token)

    assert code == 0
    assert out == [
        "skipped     7/film.mp4: is of no type that can be read",
        "new         7/week1.md: 2 passages",
        "new         7/week2.md: 2 passages",
        "kb: 2 documents (2 new); 1 file skipped",
    ]
    del server.files["week1.md"]
    assert (
        "removed     7/week1.md: its file is gone"
        in synced(heddle, f"moodle+{server.url}#5", *token)[1]
    )
    wrong = synced(heddle, f"moodle+{server.url}#5", "--moodle-token", "another")
    assert (wrong[0], "Invalid token" in wrong[2]) == (1, True)
    assert "needs its number" in synced(heddle, f"moodle+{server.url}")[2]
    assert set(services.knowledge.collections["kb"]) == {"7/week2.md"}


def test_a_source_is_followed_until_the_command_is_stopped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = iter((True, UnavailableError("The store is closed."), False, KeyboardInterrupt()))

    def once() -> bool:
        run = next(runs)
        if isinstance(run, BaseException):
            raise run
        return run

    with pytest.raises(KeyboardInterrupt):
        repeat(once, 1e-9)

    assert "The store is closed." in capsys.readouterr().err
