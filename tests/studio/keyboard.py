"""The studio with the keyboard only, in any of its languages."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from studio.harness import ROOT, Screen

_TEXTS = ROOT / "studio/src/lib/i18n"
_MOST_TABS = 400
_MOST_WAITS, _WAIT_MILLISECONDS = 100, 100
_HAS_FOCUS = """target => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element === target;
}"""
_OPTION = """(it, choice) => [...it.options].findIndex(
    ({label, value}) => label.trim() === choice || value === choice)"""


@cache
def texts(language: str) -> dict[str, str]:
    """Return all texts of a language by their keys."""
    files = sorted(_TEXTS.glob(f"*/{language}.json"))
    return {key: text for path in files for key, text in json.loads(path.read_text()).items()}


@dataclass
class Keyboard:
    """A person who uses only the keyboard: moves with Tab, and acts where the focus is."""

    screen: Screen
    language: str

    @property
    def page(self) -> Page:
        return self.screen.page

    def text(self, key: str, **values: object) -> str:
        """Return a text of the studio, as the person reads it."""
        forms = texts(self.language)
        if "count" in values and key not in forms:
            key += ".one" if values["count"] == 1 else ".other"
        text = forms[key]
        return re.sub(r"\{(\w+)\}", lambda match: str(values[match[1]]), text)

    def button(self, key: str, **values: object) -> Locator:
        return self.page.get_by_role("button", name=self.text(key, **values), exact=True)

    def link(self, key: str) -> Locator:
        return self.page.get_by_role("link", name=self.text(key), exact=True)

    def field(self, key: str, **values: object) -> Locator:
        """Return a control by its label, which may be followed by a note that it is optional."""
        label = re.escape(self.text(key, **values))
        note = re.escape(self.text("optional"))
        return self.page.get_by_label(re.compile(rf"^\s*{label}\s*(\({note}\))?\s*$"))

    def reach(self, target: Locator) -> None:
        """Press Tab until an element has the focus, which must be seen there."""
        expect(target).to_be_visible()
        for _ in range(_MOST_TABS):
            if target.evaluate(_HAS_FOCUS):
                assert target.bounding_box(), "what has the focus cannot be seen"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {target}.")

    def press(self, target: Locator, key: str = "Enter") -> None:
        """Reach an element and press a key there."""
        expect(target).to_be_enabled()
        self.reach(target)
        self.page.keyboard.press(key)

    def type(self, target: Locator, text: str) -> None:
        """Replace the text of a field."""
        self.reach(target)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, target: Locator, choice: str) -> None:
        """Choose an option of a list, by its label or value, with the arrow keys."""
        self.reach(target)
        index = -1
        for _ in range(_MOST_WAITS):  # the options may be on their way
            index = target.evaluate(_OPTION, choice)
            if index >= 0:
                break
            self.page.wait_for_timeout(_WAIT_MILLISECONDS)
        assert index >= 0, f"there is no option {choice!r}"
        for _ in range(_MOST_TABS):
            at: int = target.evaluate("it => it.selectedIndex")
            if at == index:
                return
            self.page.keyboard.press("ArrowDown" if at < index else "ArrowUp")
        raise AssertionError(f"the arrow keys do not lead to {choice!r}")

    def give(self, button: Locator, files: list[Path]) -> None:
        """Choose files in the dialog that a button opens."""
        with self.page.expect_file_chooser() as chooser:
            self.press(button)
        chooser.value.set_files(files)
