"""Removes destinations at foreign hosts from Markdown that arrives in pieces.

Every image and link of Markdown has its destination after `](`, after `]:`, in `<…>`, or is a bare
address. The filter looks at these four places instead of the structure, which is not known before
the end of a paragraph. It holds back text from such a place until the host is complete, a few
characters. HTML is shown as text. The result depends on the text only, not on the pieces.

Fenced code is not changed if its fences begin a line. After another fence, which may belong to a
list or a quotation, the filter does not know what is code, and changes all text. Code in a line is
not changed if it cannot contain an address.
"""

import re
from collections.abc import Iterator

from heddle_orchestrator.output.hosts import OutputPolicy

_FENCE_SIZE = 1_000
"""The length of a line that begins or ends fenced code; a longer one is not held back."""
_FENCE = re.compile(
    rf"(?P<marks>`{{3,{_FENCE_SIZE}}}+|~{{3,{_FENCE_SIZE}}}+)"
    rf"(?P<info>[^\r\n]{{0,{_FENCE_SIZE}}}+)(?:\r\n|\r|\n)"
)
_FENCE_BEGINNING = re.compile(
    rf"(?:`{{3,{_FENCE_SIZE}}}+|~{{3,{_FENCE_SIZE}}}+)[^\r\n]{{0,{_FENCE_SIZE}}}+\r?|`{{1,2}}|~{{1,2}}"
)
_MAY_END_FENCE = re.compile(r" {0,3}[`~]*[ \t]*")
_MAX_CODE = 300
_CODE = re.compile(rf"(?P<marks>`++)(?P<code>[^`\r\n]{{1,{_MAX_CODE}}})(?P=marks)(?!`)")
_CODE_BEGINNING = re.compile(rf"`++(?:[^`\r\n]{{1,{_MAX_CODE}}}`{{0,{_FENCE_SIZE}}})?")
_MAX_SPACE, _MAX_ADDRESS = 100, 1_000
_ENDS_BARE = r"\s<>\"`|()\[\]\\"
_BARE = re.compile(
    rf"(?:(?P<scheme>https?|ftp)://|(?=www\.))(?P<authority>[^{_ENDS_BARE}/?#]{{0,300}})",
    re.IGNORECASE,
)
_PREFIXES = ("https://", "http://", "ftp://", "www.")
_AUTHORITY = re.compile(r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}))(?::[0-9]{1,5})?")
_WEB = re.compile(r"https?://(?P<rest>[^\\]*)", re.IGNORECASE)
_RELATIVE = re.compile(r"(?![/\\]{2})[A-Za-z0-9._~#?/=-][^\s:\\&<>]*")
_ANGLE = re.compile(rf"<(?P<address>[^\s<>`]{{0,{_MAX_ADDRESS}}})")
_DESTINATION = re.compile(
    rf"\][(:](?P<space>\s{{0,{_MAX_SPACE}}})(?P<angle><?)(?P<address>[^\s)>]{{0,{_MAX_ADDRESS}}})"
)
_SPECIAL = re.compile(r"[\r\n`~<\]hHfFwW]")
_REMOVED = "link removed"
_PIECE = 4_096
Step = tuple[str, int] | None
"""Text to emit, and how many characters it replaces; None to wait for more text."""


class LinkFilter:
    """Filters one text. Call `feed` for each piece, then `finish`."""

    def __init__(self, policy: OutputPolicy) -> None:
        self._policy = policy
        self._text = ""
        self._line_start = True
        self._fence = ""
        self._knows_fences = True
        self._dropped: re.Pattern[str] | None = None
        """The pattern that ends the address that is being dropped."""

    def feed(self, piece: str) -> str:
        """Return the text that does not depend on later pieces."""
        outputs: list[str] = []
        for start in range(0, len(piece), _PIECE):  # each step copies the text that is left
            self._text += piece[start : start + _PIECE]
            outputs += self._ready(final=False)
        return "".join(outputs)

    def finish(self) -> str:
        """Return the rest of the text."""
        return "".join(self._ready(final=True))

    def _ready(self, *, final: bool) -> Iterator[str]:
        while self._text and (step := self._step(final=final)) is not None:
            output, consumed = step
            if consumed:
                self._line_start = self._text[consumed - 1] in "\r\n"
                self._text = self._text[consumed:]
            yield output

    def _step(self, *, final: bool) -> Step:
        first = self._text[0]
        if self._dropped is not None:
            return self._drop(self._dropped)
        if self._fence:
            return self._in_fence(final=final)
        match = _SPECIAL.search(self._text)
        if match is None or match.start() > 0:
            end = match.start() if match else len(self._text)
            return self._text[:end], end
        return self._special(first, final=final)

    def _special(self, first: str, *, final: bool) -> Step:
        match first:
            case "\r" | "\n":
                return self._line_end(final=final)
            case "`" | "~" if self._text.startswith(first * (_FENCE_SIZE + 1)):
                self._knows_fences = False
                return first * _FENCE_SIZE, _FENCE_SIZE
            case "`" | "~":
                return self._marks(first, final=final)
            case "<":
                return self._angle(final=final)
            case "]":
                return self._bracket(final=final)
            case _:
                return self._bare(final=final)

    def _line_end(self, *, final: bool) -> Step:
        if self._text == "\r" and not final:
            return None
        size = 2 if self._text.startswith("\r\n") else 1
        return self._text[:size], size

    def _marks(self, mark: str, *, final: bool) -> Step:
        """Return an opening fence, code in a line, or marks that are neither."""
        text = self._text
        if self._line_start and self._knows_fences:
            match = _FENCE.match(text)
            if match and not (mark == "`" and mark in match["info"]):
                if match[0].endswith("\r") and match.end() == len(text) and not final:
                    return None
                self._fence = match["marks"]
                return match[0], match.end()
            if match is None and not final and _FENCE_BEGINNING.fullmatch(text):
                return None
        size = len(text) - len(text.lstrip(mark))
        if size == len(text) and not final:
            return None
        if size >= len("```"):
            self._knows_fences = False
        code = _CODE.match(text) if mark == "`" else None
        if code is not None and (code.end() < len(text) or final):
            exempt = not re.search(r"//|[:&\\|]", code["code"])
            size = code.end() if exempt else size
        elif mark == "`" and not final and _CODE_BEGINNING.fullmatch(text):
            return None
        return text[:size], size

    def _in_fence(self, *, final: bool) -> Step:
        """Return one line of fenced code, or a part of a line that cannot end it."""
        text = self._text
        may_end = self._line_start and _MAY_END_FENCE.fullmatch(text, 0, _FENCE_SIZE)
        if may_end and len(text) >= _FENCE_SIZE:
            self._fence, self._knows_fences = "", False
            return text[:_FENCE_SIZE], _FENCE_SIZE
        end = re.search(r"\r\n|\r(?!\Z)|\n", text)
        if end is None:
            if final:
                return text, len(text)
            if self._line_start and re.fullmatch(r" {0,3}[`~]*[ \t]*\r?", text):
                return None
            size = len(text) - text.endswith("\r")
            return (text[:size], size) if size else None
        if self._line_start:
            mark, size = re.escape(self._fence[0]), len(self._fence)
            if re.fullmatch(f" {{0,3}}{mark}{{{size},}}[ \t]*", text[: end.start()]):
                self._fence = ""
        return text[: end.end()], end.end()

    def _angle(self, *, final: bool) -> Step:
        """Return an address in angle brackets if its host is permitted; else escape the bracket."""
        match = _ANGLE.match(self._text)
        assert match is not None  # noqa: S101 - the address may be empty
        end = self._text[match.end() : match.end() + 1]
        if not end and not final:
            return None
        if end == ">" and self._permits(match["address"], relative=False):
            return self._text[: match.end() + 1], match.end() + 1
        after = self._text[1:2]
        is_markup = after.isascii() and (after.isalpha() or after in ("/", "!", "?"))
        return ("&lt;" if is_markup else "<"), 1

    def _bracket(self, *, final: bool) -> Step:
        """Return a closing bracket and the destination after it, if there is one."""
        text = self._text
        if len(text) == 1 and not final:
            return None
        match = _DESTINATION.match(text)
        if match is None:
            return "]", 1
        end = text[match.end() : match.end() + 1]
        if not end and not final:
            return None
        closed = end == ">" if match["angle"] else end in (")", "") or end.isspace()
        near = len(match["space"]) < _MAX_SPACE
        if closed and near and self._permits(match["address"], relative=True):
            return text[: match.end()], match.end()
        if text[1] == ":":
            return "]\\:", 2
        self._dropped = re.compile(r"[)\r\n]")
        return f"] ({self._shown(match['address'])})", match.start("address")

    def _bare(self, *, final: bool) -> Step:
        """Return the host of a bare address, as a link only if it is permitted."""
        text = self._text
        match = _BARE.match(text)
        if match is None:
            beginning = text[:8].lower()
            waits = not final and any(prefix.startswith(beginning) for prefix in _PREFIXES)
            return None if waits else (text[0], 1)
        if match.end() == len(text) and not final:
            return None
        scheme = match["scheme"] or "https"
        address = f"{scheme}://{match['authority']}"
        if self._permits(address, relative=False):
            return match[0], match.end()
        self._dropped = re.compile(f"[{_ENDS_BARE}]")
        return self._shown(address), match.end()

    def _drop(self, ends: re.Pattern[str]) -> Step:
        end = ends.search(self._text)
        if end is None:
            return "", len(self._text)
        self._dropped = None
        return "", end.start() + (end[0] == ")" and ends.pattern.startswith("[)"))

    def _permits(self, address: str, *, relative: bool) -> bool:
        match = _WEB.fullmatch(address)
        if match is None:
            return relative and (not address or _RELATIVE.fullmatch(address) is not None)
        authority = _AUTHORITY.match(match["rest"])
        if authority is None:
            return False
        after = match["rest"][authority.end() : authority.end() + 1]
        return after in ("", "/", "?", "#") and self._policy.permits(authority["host"])

    def _shown(self, address: str) -> str:
        """Return a host in a form that no client turns into a link."""
        match = re.match(r"(?:[a-z]+:)?//(?P<rest>.*)", address, re.IGNORECASE | re.DOTALL)
        authority = _AUTHORITY.match(match["rest"]) if match else None
        return authority["host"].replace(".", "[.]") if authority else _REMOVED


def filtered(text: str, policy: OutputPolicy) -> str:
    """Return a whole text without destinations at foreign hosts."""
    link_filter = LinkFilter(policy)
    return link_filter.feed(text) + link_filter.finish()
