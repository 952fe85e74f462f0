"""What a reader looks for in a message, computed from the table once."""

import re
from collections.abc import Iterable
from functools import lru_cache

from heddle_connector.toolcalls.formats import FORMATS, Format
from heddle_connector.toolcalls.reasoning import MARKS, REASONING
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import Stops, alternatives
from heddle_connector.toolcalls.table_parser import Row

# White space, the beginning, or the end of a mark stand before calls without a mark; and what
# follows the bracket must not make it an ordinary one.
SHORTEST_CUT = 5
"""Characters of a mark at the end of a message that cannot be a coincidence."""
_BRACKET = (
    r"(?<![^\s>\]｜|])(?:\{(?=\s{0,64}(?:\"|\Z))"
    r"|\[(?=\s{0,64}(?:\{\s{0,64}(?:\"|\Z)|[^\W\d][\w.\-]{0,64}(?:\(|\Z)|\Z)))"
)


class Marks:
    """The marks of some formats, and how to find them."""

    def __init__(self, formats: Iterable[Format]) -> None:
        self.rows: dict[str, list[Row]] = {}
        """The rows of the table for each opener."""
        self.always: set[str] = set(MARKS)
        """Marks that are never text."""
        self.closers: set[str] = set()
        """Marks that are no text after a call."""
        self.bare: set[str] = set()
        """Heads without a mark."""
        seen = set()
        for format_ in formats:
            self.always.update(format_.marks)
            self.closers.update(format_.closers)
            key = (format_.head, format_.pairs, format_.ends, format_.trim, format_.decode)
            if format_.head.startswith("{"):
                self.bare.add(format_.head)
            elif key not in seen:
                seen.add(key)
                row = Row(format_)
                self.rows.setdefault(row.opener, []).append(row)
        self.outlooks = {
            opener: re.compile("|".join(row.outlook for row in rows)).match
            for opener, rows in self.rows.items()
        }
        """For each opener, whether the text from an index on, after it, can be a call."""
        self.wrappers = {
            row.opener: row.wraps for rows in self.rows.values() for row in rows if row.wraps
        }
        """For openers that are marks if a call of another format follows, what finds that."""
        self.broken_ends = {opener: _broken_ends(rows) for opener, rows in self.rows.items()}
        """For each opener what ends a call that cannot be read, None if nothing does."""
        self.ends = {*REASONING.values()}
        """Marks that end reasoning."""
        every = {*self.rows, *self.always, *self.closers, *REASONING, *self.ends}
        self.stops = Stops(every)
        """All marks."""
        brackets = f"|{_BRACKET}" if self.bare else ""
        self.pattern = re.compile(f"{self.stops.pattern.pattern}|`{brackets}")
        """Matches marks, backquotes, and brackets that may begin calls."""
        self._openings = _beginnings(self.rows)
        self._closings = _beginnings(self.closers | self.ends)
        starts = {mark[:3] for mark in every}
        tails = {start[:size] for start in starts for size in (1, 2)}
        self.promising = re.compile(
            rf"[`\n\[{{]|\s\Z|{alternatives(starts)}|(?:{alternatives(tails)})\Z"
        ).search
        """Finds something in a text for which it cannot be passed on as it is."""
        self._strong = {mark for mark in self.rows if strong(mark)}
        self._reasoning: dict[tuple[str, ...], Stops] = {}

    def reasoning_stops(self, ends: tuple[str, ...]) -> Stops:
        """Return what stops reasoning: its ends, and what begins calls."""
        if ends not in self._reasoning:
            self._reasoning[ends] = Stops({*ends, *self._strong})
        return self._reasoning[ends]

    def may_grow(self, source: Source) -> bool:
        """Whether what is next may become a mark."""
        end = source.position + self.stops.longest
        return self.stops.may_begin(source.text[source.position : end])

    def begins_call(self, text: str) -> bool:
        """Whether `text` is the beginning of what begins a call."""
        return text in self._openings

    def begins_closer(self, text: str) -> bool:
        """Whether `text` is the beginning of a mark that can be text as well."""
        return text in self._closings


def _broken_ends(rows: list[Row]) -> Stops | None:
    closers = {mark for row in rows for mark in (*row.format.closers, *row.format.marks)}
    return Stops({rows[0].opener, *closers}) if closers else None


def _beginnings(marks: Iterable[str]) -> set[str]:
    return {mark[:size] for mark in marks for size in range(1, len(mark))}


def strong(mark: str) -> bool:
    """Whether a mark is nothing that a sentence would contain."""
    return "<" in mark or "[" in mark


@lru_cache(maxsize=64)
def marks_for(names: frozenset[str] | None) -> Marks:
    """Return the marks of the formats of these names, of all for None.

    Raises:
        ValueError: There is no format of such a name.
    """
    if names is None:
        return Marks(FORMATS)
    known = sorted({format_.name for format_ in FORMATS})
    if unknown := sorted(names - set(known)):
        raise ValueError(
            f"There is no tool-call format {unknown[0]!r}; there are: {', '.join(known)}."
        )
    return Marks(format_ for format_ in FORMATS if format_.name in names)
