"""A reader who follows a tutorial in a new folder, literally."""

import os
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from docs.browser_steps import do_step
from docs.console import agrees
from docs.make_up import MakeUp, checkout, make_up
from docs.shell import run
from docs.tutorial_actions import Action, BrowserStep, Command, SavedFile, Stop
from playwright.async_api import Page

_START = "make up"
_EXPORTS = ".exports"
_DEFAULT_SECRET = "unset HEDDLE_LOCAL_SECRET_FILE"
"""The services make their secret in the reader's folder, and not where other tests have it."""
_SETTING = re.compile(r"^(?:export|declare -x) (HEDDLE_\w+)=['\"]?(.*?)['\"]?$", re.MULTILINE)


class Reader:
    """Does the actions of a tutorial."""

    def __init__(self, folder: Path, page: Page | None, running: AsyncExitStack) -> None:
        self.folder = folder
        self._page = page
        self._running = running
        self._heddle: MakeUp | None = None

    async def do(self, action: Action) -> None:
        """Do an action. It must succeed, and print what the tutorial shows."""
        match action:
            case SavedFile(path=path, text=text):
                (self.folder / path).write_text(self._actual(text))
            case Stop():
                await self._stop()
            case BrowserStep(text=text):
                assert self._page is not None, "the tutorial has steps in a browser"
                await do_step(self._page, text, self.folder, self._actual)
            case Command(text=text, output=output):
                printed = await self._command(text)
                assert agrees(output, printed.strip()) or not output, f"{text}\n{printed}"

    async def _command(self, text: str) -> str:
        """Run commands. `make up` goes on while the reader uses another terminal."""
        before, start, _ = text.partition(_START)
        printed = await self._shell(before) if before.strip() else ""
        if start:
            assert self._heddle is None, "the tutorial has not stopped Heddle"
            self._heddle = await self._running.enter_async_context(
                make_up(self.folder, HEDDLE_GATEWAY_STUDIO="true", **self._exported())
            )
        return printed

    async def _shell(self, text: str) -> str:
        exports = self.folder / _EXPORTS
        exports.touch()
        addresses = self._heddle.addresses if self._heddle else {}
        names = {**addresses, "HEDDLE_IDENTITY_SECRET": ""}  # not that of the tests
        own = "\n".join(f"export {name}='{value}'" for name, value in names.items())
        # What the tutorial has exported, but for the addresses of a Heddle that has ended.
        before = f". ./{_EXPORTS}\n{own}\n{_DEFAULT_SECRET}\nset -e\n"
        command = f"{before}{self._actual(text)}\nexport -p > {_EXPORTS}"
        # Not "|| echo": within it, a shell ignores `set -e`.
        printed = await run(f"({command}\n)\n[ $? = 0 ] || echo FAILED", self.folder)
        assert not printed.rstrip().endswith("FAILED"), f"{text}\n{printed}"
        return printed

    def _exported(self) -> dict[str, str]:
        """Return the settings that the tutorial has exported."""
        exports = self.folder / _EXPORTS
        listed = dict(_SETTING.findall(exports.read_text())) if exports.exists() else {}
        return {
            name: value
            for name, value in listed.items()
            if name not in os.environ and not name.endswith(("_ADDRESS", "_IDENTITY_SECRET"))
        }

    def _actual(self, text: str) -> str:
        return self._heddle.actual(text) if self._heddle else text

    async def _stop(self) -> None:
        assert self._heddle is not None, "Heddle does not run"
        await self._running.aclose()
        self._heddle = None


@asynccontextmanager
async def reader(folder: Path, page: Page | None = None) -> AsyncGenerator[Reader]:
    """Yield a reader with a new checkout in `folder`, and perhaps a browser."""
    async with AsyncExitStack() as running:
        yield Reader(checkout(folder), page, running)
