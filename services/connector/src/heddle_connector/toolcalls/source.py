"""A text buffer with backtracking, for scanners that read text in chunks."""

import re
from collections.abc import Sequence

_SPACE = re.compile(r"\s*+")
_SLACK = 4096  # characters that may always be read again


class Source:
    """A window on the text. Text before `position` is consumed, except for its last character."""

    __slots__ = ("_again", "_before", "_saved", "_start", "_taken", "ended", "position", "text")

    def __init__(self) -> None:
        self.text = ""
        self.position = 0
        self.ended = False
        self._taken = 0  # characters that have left the window
        self._again = 0  # characters that were read again
        self._saved: list[str] | None = None
        self._start = 0
        self._before = ""

    def feed(self, piece: str) -> None:
        """Append text."""
        start = max(self.position - 1, 0)  # one character stays for lookbehind
        if start:
            if self._saved is not None:
                self._saved.append(self.text[self._start : start])
                self._start = max(self._start - start, 0)
            self._taken += start
            self.position -= start
            self.text = self.text[start:] + piece
        else:
            self.text += piece

    def pass_over(self, piece: str) -> bool:
        """Append and consume text; return False, and do nothing, if text before it is unread."""
        if self._saved is not None or self.position < len(self.text):
            return False
        self.feed(piece)
        self.position = len(self.text)
        return True

    def end(self) -> None:
        """Mark the end of the text."""
        self.ended = True

    def take(self, end: int) -> str:
        """Consume and return the text up to the index `end` of the window."""
        text = self.text[self.position : end]
        self.position = end
        return text

    def before(self) -> str:
        """Return the character before the position, empty at the very beginning."""
        return self.text[self.position - 1] if self.position else ""

    def checkpoint(self) -> None:
        """Save the text from here on, until `text_since_checkpoint` or `backtrack`."""
        self._saved = []
        self._start = self.position
        self._before = self.before()

    def since_checkpoint(self) -> str:
        """Return the text since the checkpoint, empty if there is none."""
        if self._saved is None:
            return ""
        return "".join(self._saved) + self.text[self._start : self.position]

    def text_since_checkpoint(self) -> str:
        """Return the text since the checkpoint, and remove the checkpoint."""
        text = self.since_checkpoint()
        self._saved = None
        return text

    def at_end(self) -> bool:
        """Whether the message has ended and was consumed to its end."""
        return self.ended and self.position == len(self.text)

    def backtrack(self) -> str:
        """Return to the checkpoint.

        The amount of text that is read again is limited, so that the cost stays proportional to
        the length of the message. Past the limit, this returns the text and does not go back.
        """
        if not self._saved and self._saved is not None:  # all of it is in the window
            size = self.position - self._start
            self._again += size
            if self._again > self._taken + self.position + _SLACK:
                return self.text_since_checkpoint()
            self._saved = None
            self.position -= size
            return ""
        before = self._before
        saved = self.text_since_checkpoint()
        self._again += len(saved)
        if self._again > self._taken + self.position + _SLACK:
            return saved
        self._taken += self.position - len(saved) - len(before)
        self.text = before + saved + self.text[self.position :]
        self.position = len(before)
        return ""

    def skip(self) -> bool:
        """Consume white space; return whether a visible character follows."""
        match = _SPACE.match(self.text, self.position)
        if match:
            self.position = match.end()
        return self.position < len(self.text)

    def literal(self, options: Sequence[str]) -> str | None:
        """Consume one of the strings, none of which is a prefix of another.

        Returns:
            The string; None if none matches; an empty string if more text is needed to decide. At
            the end of the message, a prefix of a string is consumed and does not match.
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
        self.position = len(text)  # the message is cut off here
        return None
