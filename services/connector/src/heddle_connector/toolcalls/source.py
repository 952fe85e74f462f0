"""Text that arrives in pieces, for scanners that do not care where it was cut."""

import re
from collections.abc import Sequence

_SPACE = re.compile(r"\s*+")
_SLACK = 4096  # characters that may be read again whatever the length of the message


class Source:
    """A window on the text: what is before `position` is taken, except the last character."""

    __slots__ = ("_again", "_before", "_from", "_kept", "_taken", "ended", "position", "text")

    def __init__(self) -> None:
        self.text = ""
        self.position = 0
        self.ended = False
        self._taken = 0  # characters that left the window
        self._again = 0  # characters that were put back
        self._kept: list[str] | None = None
        self._from = 0
        self._before = ""

    def feed(self, piece: str) -> None:
        """Append text."""
        start = max(self.position - 1, 0)  # a character stays for those who look behind
        if start:
            if self._kept is not None:
                self._kept.append(self.text[self._from : start])
                self._from = max(self._from - start, 0)
            self._taken += start
            self.position -= start
            self.text = self.text[start:] + piece
        else:
            self.text += piece

    def end(self) -> None:
        """Say that no more text will come."""
        self.ended = True

    def take(self, end: int) -> str:
        """Take the text up to the index `end` of the window."""
        text = self.text[self.position : end]
        self.position = end
        return text

    def before(self) -> str:
        """Return the character before the position, empty at the very beginning."""
        return self.text[self.position - 1] if self.position else ""

    def keep(self) -> None:
        """Remember what is taken from here on, until `kept` or `put_back`."""
        self._kept = []
        self._from = self.position
        self._before = self.before()

    def kept(self) -> str:
        """Return what was taken since `keep`, and remember no longer."""
        kept = self._kept
        self._kept = None
        if kept is None:
            return ""
        return "".join(kept) + self.text[self._from : self.position]

    def put_back(self) -> str:
        """Go back to where `keep` was called.

        Reading again is limited, so that no text costs more than a multiple of its length: past
        the limit, the text is returned instead of put back.
        """
        if not self._kept and self._kept is not None:  # all of it is in the window
            size = self.position - self._from
            self._again += size
            if self._again > self._taken + self.position + _SLACK:
                return self.kept()
            self._kept = None
            self.position -= size
            return ""
        before = self._before
        kept = self.kept()
        self._again += len(kept)
        if self._again > self._taken + self.position + _SLACK:
            return kept
        self._taken += self.position - len(kept) - len(before)
        self.text = before + kept + self.text[self.position :]
        self.position = len(before)
        return ""

    def skip(self) -> bool:
        """Take white space; return whether something visible is next, so that there is no more."""
        match = _SPACE.match(self.text, self.position)
        if match:
            self.position = match.end()
        return self.position < len(self.text)

    def literal(self, options: Sequence[str]) -> str | None:
        """Take one of the strings, none of which begins another.

        Returns:
            The one that is next, None if none is, an empty string if more text must decide. At
            the end of the message the beginning of one is taken, and is none.
        """
        text, position = self.text, self.position
        rest = len(text) - position
        waits = False
        for option in options:
            if text.startswith(option, position):
                self.position = position + len(option)
                return option
            waits = waits or (rest < len(option) and option.startswith(text[position:]))
        if not waits:
            return None
        if not self.ended:
            return ""
        self.position = len(text)  # it was cut off
        return None

    def within(self, allowed: re.Pattern[str], most: int) -> str | None:
        """Take characters that match `allowed`, at most `most`; None if more text must decide."""
        match = allowed.match(self.text, self.position)
        end = match.end() if match else self.position
        if end == len(self.text) or end - self.position > most:
            return None
        return self.take(end)

    def passed(self, character: str) -> None:
        """Say what went by last, when all was taken and more went by without being fed."""
        self._taken += self.position
        self.text = character
        self.position = 1
