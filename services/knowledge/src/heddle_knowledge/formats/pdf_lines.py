"""Lines of a page by their places: their order, what was written into them, and tables."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from heddle_knowledge.formats.blocks import table_lines

_WIDE = 1.0
"""Between two cells, in heights of a line; justified text has narrower spaces."""
_BULLET = 3  # characters of a bullet or a number of a list
_LEADER = re.compile(r"[.…·_]{4}|(?:[.·] ){4}")
_RELATION = re.compile(r"[∈∉∀∃⇒⇔→↦◦∘∩∪⊆⊂∧∨∼≅≡≤≥]|(?:^| )[=:]?=(?: |$)")  # noqa: RUF001
"""Signs of formulas, whose spaces are no columns."""
_ROWS_OF_TABLE = 3
_WORDS_OF_CELL = 6  # words of most cells; columns of prose have more
_FARTHEST = 3  # between rows of a table, in heights of a line
_HEADER_ROWS = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A box on a page, in points from its lower left."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def height(self) -> float:
        """How high it is, never nothing."""
        return max(self.top - self.bottom, 0.1)

    def has(self, other: "Place") -> bool:
        """Return whether the middle of another is in this one."""
        across, up = (other.left + other.right) / 2, (other.bottom + other.top) / 2
        return self.left <= across <= self.right and self.bottom <= up <= self.top

    def beside(self, other: "Place") -> bool:
        """Return whether both stand on one line of writing."""
        return abs(self.bottom - other.bottom) < self.height / 2

    def meets(self, other: "Place") -> bool:
        """Return whether any of the other is in this one."""
        return self.overlaps(other) and other.top > self.bottom and other.bottom < self.top

    def overlaps(self, other: "Place") -> bool:
        """Return whether one stands above a part of the other."""
        return min(self.right, other.right) > max(self.left, other.left)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the text of a page: where it begins and ends in it, and its place."""

    start: int
    end: int
    place: Place
    is_number: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page.

    Attributes:
        text: What it says; bars stand between the cells of a row.
        place: Its box.
        words: Its words.
        size: The size of its letters.
        bold: Whether its letters are heavy.
        table: The number of the table that it is a row of, 0 for none.
        header: Whether it names columns.
    """

    text: str
    place: Place = Place(0, 0, 0, 0)
    words: tuple[Word, ...] = ()
    size: float = 0
    bold: bool = False
    table: int = 0
    header: bool = False


def turned(box: tuple[float, float, float, float], rotation: int) -> Place:
    """Return a box of a page as it stands when the page is turned clockwise by some degrees."""
    left, bottom, right, top = box
    for _ in range(rotation // 90):
        left, bottom, right, top = bottom, -right, top, -left
    return Place(min(left, right), max(left, right), min(bottom, top), max(bottom, top))


def parts(words: Sequence[Word]) -> list[list[Word]]:
    """Return words of a line in groups with wide gaps between them."""
    groups = [[*words[:1]]]
    for before, word in pairwise(words):
        gap = word.place.left - before.place.right
        high = before.place.height
        if gap > _WIDE * high or gap < -high or not before.place.beside(word.place):
            groups.append([])
        groups[-1].append(word)
    return groups if words else []


def around(words: Sequence[Word]) -> Place:
    """Return the box around words, at least one."""
    places = [word.place for word in words]
    first = places[0]
    right = max(place.right for place in places)
    return Place(min(place.left for place in places), right, first.bottom, first.top)


def ordered(lines: list[Line]) -> list[Line]:
    """Return lines from top to bottom if they are one column that was written in another order."""
    jumps = any(
        after.place.bottom > before.place.top and before.place.overlaps(after.place)
        for before, after in pairwise(lines)
    )
    if not jumps:
        return lines
    rows = sorted(lines, key=lambda line: (-line.place.bottom, line.place.left))
    columns = any(
        above.place.beside(below.place) and not above.place.overlaps(below.place)
        for above, below in pairwise(rows)
    )
    return lines if columns else rows


def with_values(lines: list[Line], values: list[Line]) -> list[Line]:
    """Put each value at the end of the line of its height, else between the lines around it."""
    placed = list(lines)
    for value in values:
        middle = (value.place.bottom + value.place.top) / 2
        for at, line in enumerate(placed):
            if line.text.strip() and line.place.bottom <= middle <= line.place.top:
                placed[at] = replace(line, text=f"{line.text.rstrip()} {value.text}", words=())
                break
            if line.text.strip() and line.place.top < middle:
                placed.insert(at, value)
                break
        else:
            placed.append(value)
    return placed


def with_tables(lines: list[Line], written: Callable[[int, int], str]) -> list[Line]:
    """Write rows of cells that stand below each other as tables.

    Args:
        lines: The lines of a page in their order.
        written: Returns what the text of the page says from one character to another.
    """
    result: list[Line] = []
    tables = 0
    for run in _runs(_rows(lines)):
        columns = _columns(run)
        if columns:
            tables += 1
            result += _table(run, columns, tables, written)
        else:
            result += [line for row in run for line in row]
    return result


_Row = list[Line]


def _rows(lines: list[Line]) -> Iterator[_Row]:
    """Yield the lines that have the same height and follow each other."""
    row: _Row = []
    for line in lines:
        last = row[-1] if row and row[-1].words and line.words else None
        if last and line.place.beside(last.place) and line.place.left >= last.place.right:
            row.append(line)
            continue
        if row:
            yield row
        row = [line]
    if row:
        yield row


def _cells(row: _Row) -> list[list[Word]]:
    if any(_LEADER.search(line.text) for line in row):
        return []
    return [part for line in row for part in parts(line.words)]


def _runs(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    """Yield rows of several cells with at most one other between them, and all other rows alone."""
    run: list[_Row] = []
    alone: list[_Row] = []
    for row in rows:
        near = not run or 0 < _distance((alone or run)[-1], row) < _FARTHEST
        if near and len(_cells(row)) > 1:
            run += [*alone, row] if run else [row]
            alone = []
        elif near and run and not alone and row[0].words:
            alone = [row]
        else:
            yield from (run, alone) if run else ()
            run, alone = ([row], []) if len(_cells(row)) > 1 else ([], [])
            if not run:
                yield [row]
    yield from (run, alone)


def _distance(above: _Row, below: _Row) -> float:
    return (above[0].place.bottom - below[0].place.bottom) / above[0].place.height


def _columns(run: list[_Row]) -> list[tuple[float, float]]:
    """Return where the columns of a table begin and end; none if the rows are no table."""
    rows = [cells for row in run if len(cells := _cells(row)) > 1]
    if len(rows) < _ROWS_OF_TABLE:
        return []
    cells = [cell for row in rows for cell in row]
    sizes = sorted(len(cell) for cell in cells)
    if sizes[len(sizes) * 3 // 4] > _WORDS_OF_CELL:
        return []
    columns = list(_covered([around(cell) for cell in cells], max(1, len(rows) // 6)))
    formulas = sum(any(_RELATION.search(line.text) for line in row) for row in run)
    filled = sum(len({_column(cell[0], columns) for cell in row}) for row in rows if columns)
    if 3 * formulas > len(run) or 2 * filled < len(rows) * len(columns):
        return []
    first = [row[0] for row in rows]
    bullets = sum(len(it) == 1 and it[0].end - it[0].start <= _BULLET for it in first)
    is_list = bullets > len(rows) / 2 and not columns[2:]
    return columns if columns[1:] and not is_list else []


def _covered(places: list[Place], few: int) -> Iterator[tuple[float, float]]:
    """Yield the stretches above which more than a few boxes stand."""
    ends = sorted([(place.left, 1) for place in places] + [(place.right, -1) for place in places])
    depth, begin = 0, 0.0
    for at, step in ends:
        before, depth = depth, depth + step
        if before <= few < depth:
            begin = at
        elif depth <= few < before:
            yield begin, at


def _column(word: Word, columns: Sequence[tuple[float, float]]) -> int:
    middle = (word.place.left + word.place.right) / 2
    distances = [max(left - middle, middle - right, 0) for left, right in columns]
    return distances.index(min(distances))


def _table(
    run: list[_Row],
    columns: list[tuple[float, float]],
    number: int,
    written: Callable[[int, int], str],
) -> Iterator[Line]:
    headers = 0
    for row in run:
        if re.search(r"\d", row[0].text) or headers == _HEADER_ROWS:
            break
        headers += 1
    for at, row in enumerate(run):
        cells = ["" for _ in columns]
        for part in (part for line in row for part in parts(line.words)):
            for column, group in groupby(_pieces(part, columns), lambda pair: pair[0]):
                words = [word for _, word in group]
                text_of_cell = written(words[0].start, words[-1].end)
                cells[column] = f"{cells[column]} {text_of_cell}".strip()
        text, _ = table_lines([cells])
        yield replace(row[0], text=text, words=(), table=number, header=at < max(headers, 1))


def _pieces(part: list[Word], columns: Sequence[tuple[float, float]]) -> Iterator[tuple[int, Word]]:
    """Yield the words of a cell with their columns: all those of the first, but numbers their own.

    Numbers of neighbouring columns may stand close together; a title may stand above several.
    """
    numbers = all(word.is_number for word in part)
    for word in part:
        yield _column(word if numbers else part[0], columns), word
