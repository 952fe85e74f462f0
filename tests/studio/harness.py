"""The studio in Debian's Chromium before a real Heddle: for the tests of its screens and flows.

A test opens a screen with `Studio.screen`, uses `Screen.page` (Playwright's page), and ends with
`Screen.check`: accessible, no message in the console, nothing wider than the window.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, ConsoleMessage, Page, expect
from runtime.ports import free_port

ROOT = Path(__file__).parents[2]
SCREENSHOTS = os.environ.get("HEDDLE_SCREENSHOTS", "")
"""A folder for the pictures of `Screen.picture`; none without it."""
SECRET = "the-secret-of-the-services-of-a-test"
KEY = "lamb_key_of_the_operator"
PHONE = 360
DESKTOP = 1280
LANGUAGES = ("en", "es", "ca", "eu")
VIEWS = (("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE))
"""The themes and widths in which every screen is checked."""
_AXE = ROOT / "studio/node_modules/axe-core/axe.min.js"
_HEIGHT = 800
_START_SECONDS = 60.0
_SERVICES = ("ORCHESTRATOR", "TOOLS", "KNOWLEDGE", "CONNECTOR", "ASSISTANTS", "MIGRATION")
_RUN_AXE = """async () => (await axe.run()).violations.map(({id, nodes}) =>
    [id, ...nodes.map(({html, failureSummary}) => `${html} ${failureSummary}`)].join('\\n'))"""


@dataclass
class Screen:
    """A page of the studio, and what its console showed."""

    page: Page
    url: str
    messages: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._log)
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))

    def open(self, path: str = "") -> None:
        """Open a screen by its path below /studio, and wait for its title."""
        self.page.goto(f"{self.url}/studio/{path}")
        self.page.get_by_role("heading", level=1).wait_for(state="attached")
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is being fetched."""
        self.page.wait_for_load_state("networkidle")  # later requests do not undo this state
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)

    def check(self, *, expected: tuple[str, ...] = ()) -> None:
        """Check that the screen is accessible, fits into the window, and that no message came.

        Args:
            expected: Parts of the messages that the test causes, such as `401`.
        """
        violations = self.violations()
        assert violations == [], "\n".join(violations)
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= self.page.evaluate("window.innerWidth"), f"the screen is {width} px wide"
        messages = [text for text in self.messages if not any(part in text for part in expected)]
        assert messages == [], messages

    def check_in_views(self, picture: str) -> None:
        """Check the screen in each theme and width, and take its pictures."""
        for theme, width in VIEWS:
            self.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            self.page.set_viewport_size({"width": width, "height": _HEIGHT})
            self.settle()
            self.check()
            self.picture(picture.format(view=f"{theme}-{width}"))

    def violations(self) -> list[str]:
        """Return what axe says against the screen."""
        if not self.page.evaluate("'axe' in window"):
            # Not as a script of the page: its policy allows none.
            session = self.page.context.new_cdp_session(self.page)
            session.send("Runtime.evaluate", {"expression": _AXE.read_text()})
            session.detach()
        violations: list[str] = self.page.evaluate(_RUN_AXE)
        return violations

    def picture(self, name: str) -> None:
        """Take a picture for the documentation, if there is a folder for it."""
        if SCREENSHOTS:
            self.page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")

    def _log(self, message: ConsoleMessage) -> None:
        self.messages.append(f"{message.text} ({message.location['url']})")


@dataclass
class Studio:
    """A running Heddle, and a browser."""

    url: str
    browser: Browser
    client: httpx.Client
    """The operator's, to prepare what a screen shows."""
    folder: Path
    assistants: str
    """The address of the assistants service."""

    def heddle(self, *arguments: str, text: str = "") -> None:
        """Run the command `heddle` as the operator, with `text` as its standard input."""
        command = [sys.executable, "-m", "heddle_cli", *arguments]
        ran = subprocess.run(  # noqa: S603 - our own command
            command,
            capture_output=True,
            check=False,
            cwd=self.folder,
            env={
                **os.environ,
                "HEDDLE_IDENTITY_SECRET": SECRET,
                "HEDDLE_ASSISTANTS_ADDRESS": self.assistants,
            },
            input=text,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr

    @contextmanager
    def screen(
        self,
        *,
        theme: str = "light",
        width: int = DESKTOP,
        language: str = "en",
        key: str = "",
        level: str = "advanced",
    ) -> Iterator[Screen]:
        """Open a window of a new visitor.

        Args:
            theme: The system's colours: `light` or `dark`.
            width: Of the window in pixels.
            language: Of the browser.
            key: The API key that the visitor has pasted before.
            level: How much the editor of assistants shows: `simple` or `advanced`.
        """
        context = self.browser.new_context(
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": width, "height": _HEIGHT},
            locale=language,
            reduced_motion="reduce",
        )
        context.add_init_script(f"localStorage['heddle.level'] ??= {json.dumps(level)}")
        if key:
            script = f"sessionStorage.setItem('heddle.key', {json.dumps(key)})"
            context.add_init_script(script)
        try:
            yield Screen(context.new_page(), self.url)
        finally:
            context.close()


@contextmanager
def running(folder: Path, browser: Browser, **settings: str) -> Iterator[Studio]:
    """Run all of Heddle in one process with its data in `folder`.

    Args:
        folder: An empty folder.
        browser: The browser of the visitors: the fixture `browser`.
        settings: Further environment variables. Without `HEDDLE_GATEWAY_API_KEY` it runs in
            development mode.
    """
    port, assistants = free_port(), f"127.0.0.1:{free_port()}"
    url = f"http://127.0.0.1:{port}"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")},
        **{f"HEDDLE_{service}_LISTEN": "127.0.0.1:0" for service in _SERVICES},
        # No load balancer must notice that they stop.
        **{f"HEDDLE_{service}_DRAIN_WAIT": "0" for service in (*_SERVICES, "GATEWAY")},
        "HEDDLE_IDENTITY_SECRET": SECRET,
        "HEDDLE_ASSISTANTS_LISTEN": assistants,
        "HEDDLE_GATEWAY_LISTEN": f"127.0.0.1:{port}",
        **settings,
    }
    key = settings.get("HEDDLE_GATEWAY_API_KEY", "")
    if not key:
        environment["HEDDLE_GATEWAY_DEVELOPMENT"] = "true"
    headers = {"authorization": f"Bearer {key}"} if key else {}
    with (
        (folder / "heddle.log").open("wb") as log,
        _process(folder, environment, log) as process,
        httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client,
    ):
        _wait(client, process, folder / "heddle.log")
        yield Studio(url, browser, client, folder, assistants)


@contextmanager
def _process(
    folder: Path, environment: dict[str, str], log: Any
) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "heddle_devstack"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)  # noqa: S603 - our own module
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _wait(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the gateway answers."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            client.get("/status").raise_for_status()
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"Heddle did not start: {log.read_text()[-2000:]}")
