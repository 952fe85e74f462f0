"""A learner opens a link of a course: the chat in a frame of the platform, and in a window."""

import asyncio
import html
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from urllib.parse import parse_qsl

import pytest
import trustme
from migration.lti.platform import KEY as CONSUMER
from migration.lti.platform import LINK, SECRET, lamb_with_links, signed
from playwright.sync_api import Browser, BrowserContext, FrameLocator, Page, expect
from runtime.ports import free_port
from studio.harness import KEY, SCREENSHOTS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
HEDDLE, MOODLE = "https://heddle.test", "https://moodle.test"
LAUNCH = "/lamb/v1/lti/launch"
LEARNER = {
    "resource_link_id": LINK,
    "user_id": "17",
    "roles": "Learner",
    "lis_person_name_full": "Lea Learner",
}
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def tls_server(certificate: trustme.LeafCert, handler: Handler) -> Iterator[int]:
    """Serve TLS in a thread, and yield the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    port, started, ended = free_port(), Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with await asyncio.start_server(handler, "127.0.0.1", port, ssl=context):
            started.set()
            await ended.wait()

    # Playwright runs a loop in this thread.
    thread = Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(30)
    try:
        yield port
    finally:
        loops[0].call_soon_threadsafe(ended.set)
        thread.join()


def relay(port: int) -> Handler:
    """Return a handler that passes connections on to a port."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind = await asyncio.open_connection("127.0.0.1", port)
        both = copy(reader, behind), copy(behind_reader, writer)
        await asyncio.gather(*both, return_exceptions=True)

    return connect


@dataclass
class Course:
    """The page of a course, with a link."""

    framed: bool = True

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer with the page, whose button opens the link."""
        await reader.readuntil(b"\r\n\r\n")
        form = signed(f"{HEDDLE}{LAUNCH}", CONSUMER, SECRET, LEARNER)
        fields = "".join(
            f'<input type="hidden" name="{name}" value="{html.escape(value)}">'
            for name, value in parse_qsl(form)
        )
        target = "chat" if self.framed else "_blank"
        page = (
            f'<!doctype html><title>Optics</title><h1>Optics</h1><form method="post" '
            f'action="{HEDDLE}{LAUNCH}" target="{target}">{fields}<button>Open the tutor</button>'
            '</form><iframe name="chat" width="900" height="600"></iframe>'
        )
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(page)}\r\n\r\n"
        writer.write(f"{head}{page}".encode())
        await writer.drain()
        writer.close()


def imported(studio: Studio) -> None:
    """Import LAMB, and let pages of the platform show the chat."""
    job = studio.client.post("/migration/jobs", json={"kind": "import"}).raise_for_status().json()
    while job["state"] != "done":
        time.sleep(0.2)
        job = studio.client.get(f"/migration/jobs/{job['id']}").raise_for_status().json()
    body = {"settings": {"chat": {"frame_hosts": "moodle.test"}}}
    studio.client.put("/organizations/physics", json=body).raise_for_status()


@pytest.fixture
def course(tmp_path: Path, browser: Browser) -> Iterator[tuple[Course, BrowserContext]]:
    """A course whose link leads to a Heddle over https, and a browser of a learner."""
    lamb = lamb_with_links(tmp_path / "lamb_v4.db")
    settings = {
        "HEDDLE_GATEWAY_API_KEY": KEY,
        "HEDDLE_GATEWAY_PUBLIC_URL": HEDDLE,
        "HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path),
    }
    certificate, it = trustme.CA().issue_cert("heddle.test", "moodle.test"), Course()
    with running(tmp_path, browser, **settings) as studio:
        imported(studio)
        gateway = int(studio.url.rpartition(":")[2])
        with (
            tls_server(certificate, relay(gateway)) as heddle,
            tls_server(certificate, it.answer) as moodle,
        ):
            rules = (
                f"MAP heddle.test:443 127.0.0.1:{heddle}, MAP moodle.test:443 127.0.0.1:{moodle}"
            )
            learners = browser.browser_type.launch(
                executable_path="/usr/bin/chromium",
                args=["--no-sandbox", f"--host-resolver-rules={rules}"],
            )
            yield it, learners.new_context(ignore_https_errors=True, locale="en")
            learners.close()


def converse(place: Page | FrameLocator, question: str) -> None:
    """Ask, and wait for the answer."""
    box = place.get_by_label("Your question")
    box.fill(question)
    box.press("Enter")
    expect(place.get_by_role("button", name="Copy the answer").last).to_be_visible()


def test_a_learner_chats_in_a_frame_of_the_platform(
    course: tuple[Course, BrowserContext],
) -> None:
    _, context = course
    page = context.new_page()
    page.goto(MOODLE)
    page.get_by_role("button", name="Open the tutor").click()
    frame = page.frame_locator("iframe")
    converse(frame, "What bends light?")
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / "lti-frame.png")
    [session] = [each for each in context.cookies() if "session" in each["name"]]
    assert (session["sameSite"], session["secure"]) == ("None", True)
    # The session is that of the frame: the studio in a window of its own does not know it.
    window = context.new_page()
    window.goto(f"{HEDDLE}/studio/")
    expect(window.get_by_label("Password")).to_be_visible()


def test_a_learner_chats_in_a_window(course: tuple[Course, BrowserContext]) -> None:
    it, context = course
    it.framed = False
    page = context.new_page()
    page.goto(MOODLE)
    with context.expect_page() as opened:
        page.get_by_role("button", name="Open the tutor").click()
    converse(opened.value, "What bends light?")
    [session] = [each for each in context.cookies() if "session" in each["name"]]
    assert session["sameSite"] == "Strict"
