"""How far an ingestion is: bars on a terminal, lines of text in a pipe or a file."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress as ProgressBars

from heddle_cli.documents import Document
from heddle_cli.terminal import bars, notes, out, plain

Progress = Callable[[str, int, int], None]
"""Called with the stage of a document, the completed steps and all steps."""
_FIRST_PAUSE, _GROWTH, _LONGEST_PAUSE = 1.0, 1.5, 60.0
_MAX_NAME = 40


@contextmanager
def progress_display(total: int) -> Iterator["Bars | Lines"]:
    """Show progress in the block, for so many documents."""
    if not out.is_terminal:
        yield Lines(total)
        return
    with bars(shown=True) as drawn:
        yield Bars(drawn, total)


class Bars:
    """Two bars: all documents, and the stage of the latest one."""

    def __init__(self, drawn: ProgressBars, total: int) -> None:
        self._drawn = drawn
        self._overall = drawn.add_task("documents", total=total)
        self._current = drawn.add_task("", total=None)

    def begin(self, document: Document) -> Progress:
        """Return what shows the stages of a document."""
        name = _name(document)

        def progress(stage: str, done: int, total: int) -> None:
            text = f"{plain(stage)} {name}".strip()
            self._drawn.update(self._current, description=text, completed=done, total=total)

        return progress

    def end(self) -> None:
        """Count a document as done."""
        self._drawn.advance(self._overall)


class Lines:
    """Prints the first progress at once, then a line after a growing pause of at most a minute."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._lock = threading.Lock()
        self._due = 0.0
        self._pause = _FIRST_PAUSE

    def begin(self, document: Document) -> Progress:
        """Return what prints the stages of a document."""
        name = _name(document)
        return lambda stage, done, total: self._print(f", {plain(stage)} {name} {done}/{total}")

    def end(self) -> None:
        """Count a document as done."""
        with self._lock:
            self._done += 1
        if self._done < self._total:
            self._print("")

    def _print(self, current: str) -> None:
        with self._lock:
            now = time.monotonic()
            if now < self._due:
                return
            self._due = now + self._pause
            self._pause = min(self._pause * _GROWTH, _LONGEST_PAUSE)
            notes.print(f"{self._done}/{self._total} documents{current}", style="dim")


def _name(document: Document) -> str:
    return " ".join(plain(document.path.name).split())[:_MAX_NAME]
