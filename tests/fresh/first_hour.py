"""`make first-hour`: the first minutes with Heddle on a Debian 12 that has almost nothing.

Builds the root of `make fresh`, runs `make up` in it, and does in Chromium what a newcomer does:
opens the address, chooses a PDF, asks, and reads the answer. Once without a provider, cold and
warm, and once with an OpenAI-compatible server on loopback that is connected in the studio alone.
Prints the seconds from `make up` to the right answer, the clicks, and the words typed. Exits with 1
if an answer is wrong or a limit is exceeded.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from fresh.machine import build, inside
from knowledge.store.making import pdf
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

ADDRESS = "http://127.0.0.1:8080"
MODEL = "course-model"
KEY = "sk-first-hour"
SIGNATURE = "(answered by the provider)"
MAX_STEPS = 12
"""Clicks and words typed."""
COLD_SECONDS, WARM_SECONDS = 300, 60
ANSWER_MS = 60_000
DIALOG_CLICKS = 2
"""A file and "Open", which happen outside of the page."""
SYLLABUS = (
    "Weaving 101 syllabus. The course has fourteen weeks.",
    "The final grade: 35 % project, 20 % weekly exercises, 45 % written examination.",
    "Office hours are on Thursdays from 14:00 to 15:30.",
)
QUESTION = "Office hours?"
RIGHT = re.compile(r"Thursdays.{0,20}14:00")


@dataclass
class Steps:
    """What a newcomer did."""

    page: Page
    clicks: int = 0
    words: int = 0

    def click(self, role: str, name: str) -> None:
        main = self.page.get_by_role("main")
        main.get_by_role(role, name=name).first.click()  # type: ignore[arg-type] # one of its roles
        self.clicks += 1

    def write(self, label: str, *texts: str) -> None:
        """Click a field, write a text into it and into each following field, and press Enter."""
        self.page.get_by_label(label, exact=True).first.click()
        self.clicks += 1
        for number, text in enumerate(texts):
            if number:
                self.page.keyboard.press("Tab")
            self.page.keyboard.type(text)
            self.words += len(text.split())
        self.page.keyboard.press("Enter")


class Provider(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that quotes the sentence about office hours from its prompt."""

    def do_GET(self) -> None:
        if self._may():
            self._respond({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self._may():
            return
        found = re.search(r"Office hours are[^.]*\.", json.dumps(body["messages"]))
        text = f"{found[0] if found else 'I do not know.'} {SIGNATURE}"
        if not body.get("stream"):
            message = {"role": "assistant", "content": text}
            self._respond({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
            return
        chunk = {"id": "1", "object": "chat.completion.chunk", "model": MODEL, "created": 0}
        choices = [
            {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        ]
        events = [f"data: {json.dumps(chunk | {'choices': [each]})}\n\n" for each in choices]
        self._send(200, "text/event-stream", "".join([*events, "data: [DONE]\n\n"]).encode())

    def log_message(self, *_: object) -> None:
        """Stay quiet."""

    def _may(self) -> bool:
        if self.headers["authorization"] == f"Bearer {KEY}":
            return True
        self._respond({"error": {"message": "Incorrect API key provided."}}, 401)
        return False

    def _respond(self, content: object, status: int = 200) -> None:
        self._send(status, "application/json", json.dumps(content).encode())

    def _send(self, status: int, media_type: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> int:
    """Run every first hour, print a line each, and return the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="heddle-first-hour-", dir="/var/tmp"))
    document = folder / "Weaving 101.pdf"
    document.write_bytes(pdf(*SYLLABUS))
    results = []
    try:
        root = folder / "root"
        build(root)
        with sync_playwright() as playwright, provider() as address:
            options = {"executable_path": shutil.which("chromium"), "args": ["--no-sandbox"]}
            browser = playwright.chromium.launch(**options)  # type: ignore[arg-type] # as they are
            results.append(visit(root, browser, document, "cold", COLD_SECONDS))
            results.append(visit(root, browser, document, "warm", WARM_SECONDS))
            shutil.rmtree(root / "root/heddle/.heddle/knowledge", ignore_errors=True)
            results.append(visit(root, browser, document, "with a provider", WARM_SECONDS, address))
    finally:
        shutil.rmtree(folder)
    return 0 if all(results) else 1


@contextmanager
def provider() -> Iterator[str]:
    """Serve the provider, and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def visit(
    root: Path, browser: Browser, document: Path, name: str, seconds: float, address: str = ""
) -> bool:
    """Start Heddle, act as a newcomer, and return whether the answer was right and in time."""
    start = time.monotonic()
    log = (root.parent / "make-up.log").open("wb")
    with log, subprocess.Popen(inside(root, "make up"), stdout=log, stderr=log) as process:
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        try:
            served = first_page(page, start + COLD_SECONDS)
            steps = Steps(page)
            if address:
                connect(steps, address)
            answer = ask(steps, document)
            taken = time.monotonic() - start
        except (AssertionError, Error):
            print(f"{name}: the screen shows:\n{page.inner_text('body')}", flush=True)
            raise
        finally:
            process.kill()  # it ignores other signals; the kernel ends what runs in the root
    right = bool(RIGHT.search(answer)) and (SIGNATURE in answer) == bool(address)
    count = steps.clicks + steps.words
    print(
        f"{name}: first page after {served - start:.1f} s, answer after {taken:.1f} s "
        f"(at most {seconds}), {steps.clicks} clicks and {steps.words} words typed (together at "
        f"most {MAX_STEPS}), {'right' if right else 'wrong: ' + answer!r}",
        flush=True,
    )
    return right and taken <= seconds and count <= MAX_STEPS


def first_page(page: Page, until: float) -> float:
    """Open the start page as soon as it is served; return when that was."""
    while True:
        try:
            page.goto(ADDRESS)
        except Error:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return time.monotonic()


def connect(steps: Steps, address: str) -> None:
    """Connect the provider in the studio."""
    steps.click("link", "Connect a model")
    steps.write("Address", address, KEY)
    expect(steps.page.get_by_text("Saved.").first).to_be_visible(timeout=ANSWER_MS)
    steps.click("link", "Next")
    steps.page.wait_for_url("**/start?first")


def ask(steps: Steps, document: Path) -> str:
    """Make an assistant of the document, ask it, and return the answer on the screen."""
    page = steps.page
    if not page.url.endswith("/start?first"):
        steps.click("link", "Choose a document")
    page.get_by_label("Document").set_input_files(document)
    steps.clicks += 1 + DIALOG_CLICKS
    steps.click("button", "Create")
    expect(page).to_have_url(re.compile(r"/assistants/\d+"), timeout=ANSWER_MS)
    steps.write("Your question", QUESTION)
    answer = page.get_by_role("article").last
    expect(answer).to_contain_text("Thursdays", timeout=ANSWER_MS)
    return answer.inner_text()


if __name__ == "__main__":
    sys.exit(main())
