"""Does the numbered steps of tutorials in a browser, literally.

A step consists of sentences of a few forms. What is bold is the name of a control or a text that
the page shows, what is code is typed or chosen. So a page that names a control that is gone fails.
"""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import Locator, Page, expect

PATIENCE_MILLISECONDS = 180_000
"""The embedded model is slow on a busy machine."""
_BOLD = re.compile(r"\*\*([^*]+)\*\*")


async def do_step(page: Page, text: str, folder: Path, actual: Callable[[str], str]) -> None:
    """Do a step.

    Args:
        page: The browser's page.
        text: The step as the tutorial has it.
        folder: The reader's folder.
        actual: Replaces addresses of the tutorial by those of what runs here.

    Raises:
        ValueError: A sentence has none of the known forms.
    """
    position = 0
    while position < len(text):
        match, act = _form(text, position)
        await act(page, match, folder, actual)
        position = match.end()


def check_step(text: str) -> None:
    """Check that every sentence of a step has a known form.

    Raises:
        ValueError: One has none.
    """
    position = 0
    while position < len(text):
        position = _form(text, position)[0].end()


def _form(text: str, position: int) -> tuple[re.Match[str], "_Act"]:
    for pattern, act in _FORMS:
        if match := pattern.match(text, position):
            return match, act
    raise ValueError(f"a step of no known form: {text[position:]}")


async def _open(page: Page, match: re.Match[str], _: Path, actual: Callable[[str], str]) -> None:
    await page.goto(actual(match["address"]))


async def _press(page: Page, match: re.Match[str], *_: object) -> None:
    await _control(page, match["name"]).click()


async def _choose_file(page: Page, match: re.Match[str], folder: Path, _: object) -> None:
    await _field(page, match["label"]).set_input_files(folder / match["path"])


async def _type(page: Page, match: re.Match[str], *_: object) -> None:
    await _field(page, match["label"]).fill(match["text"])


async def _tick(page: Page, match: re.Match[str], *_: object) -> None:
    await _field(page, match["label"]).check()


async def _look(page: Page, match: re.Match[str], *_: object) -> None:
    for text in _BOLD.findall(match[0]):
        shown = page.get_by_text(text).filter(visible=True)
        await expect(shown.first).to_be_visible(timeout=PATIENCE_MILLISECONDS)


async def _read(page: Page, match: re.Match[str], *_: object) -> None:
    await expect(_field(page, match["label"])).to_have_value(
        match["value"], timeout=PATIENCE_MILLISECONDS
    )


def _field(page: Page, label: str) -> Locator:
    """Return the field whose label begins with a text; an explanation may follow."""
    return page.get_by_label(re.compile(rf"^\s*{re.escape(label)}\b"))


def _control(page: Page, name: str) -> Locator:
    button = page.get_by_role("button", name=name, exact=True)
    link = page.get_by_role("link", name=name, exact=True)
    return button.or_(link).filter(visible=True).first


_Act = Callable[[Page, re.Match[str], Path, Callable[[str], str]], Awaitable[None]]
_FORMS: tuple[tuple[re.Pattern[str], _Act], ...] = (
    (re.compile(r"Open <(?P<address>[^>]+)> in a browser\. ?"), _open),
    (re.compile(r"Press \*\*(?P<name>[^*]+)\*\*\. ?"), _press),
    (
        re.compile(r"Choose the file `(?P<path>[^`]+)` for \*\*(?P<label>[^*]+)\*\*\. ?"),
        _choose_file,
    ),
    (re.compile(r"Type `(?P<text>[^`]+)` into \*\*(?P<label>[^*]+)\*\*\. ?"), _type),
    (re.compile(r"Tick \*\*(?P<label>[^*]+)\*\*\. ?"), _tick),
    (re.compile(r"The field \*\*(?P<label>[^*]+)\*\* shows `(?P<value>[^`]+)`\. ?"), _read),
    (re.compile(r"[^.*]*\bshows\b[^.*]*(?:\*\*[^*]+\*\*[^.*]*)+\. ?"), _look),
)
