"""The report of an import from LAMB, as JSON and as Markdown."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from heddle_conversion.import_notes import is_incomplete, is_unusable

_ASSISTANTS = "assistants"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")
_MAX_NAME = 100
_LEFT_NOTE = re.compile(r"(\d+) (?:row stays|rows stay) in LAMB: ")
Select = Callable[["ReportedRow"], bool]


@dataclass(frozen=True, slots=True)
class ReportedTable:
    """The result of importing the rows of a table."""

    table: str
    total: int
    imported: int
    unchanged: int
    refused: int


@dataclass(frozen=True, slots=True)
class ReportedRow:
    """A row with something to look at."""

    table: str
    id: str
    name: str
    notes: Sequence[str]
    refusal: str = ""


@dataclass(slots=True)
class ImportReport:
    """The results of an import, or of its dry run."""

    dry_run: bool
    tables: dict[str, ReportedTable] = field(default_factory=dict)
    rows: list[ReportedRow] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "dry_run": self.dry_run,
            "tables": [asdict(each) for each in self.tables.values()],
            **{key: [_row(each) for each in self._selected(select)] for key, _, select in _PARTS},
            "left_in_lamb": [
                {"table": name, "rows": rows, "meaning": meaning}
                for name, rows, meaning in self._left()
            ],
        }

    def markdown(self) -> str:
        """Return the report as a page in Markdown."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"# Import from LAMB{' (dry run: nothing was written)' if self.dry_run else ''}"
        yield from ("", "## Rows", "")
        yield from _table_head("Table", "Rows", "Imported", "Unchanged", "Refused")
        for table in self.tables.values():
            counts = (table.total, table.imported, table.unchanged, table.refused)
            yield f"| {_text(table.table)} | {' | '.join(map(str, counts))} |"
        for _, title, select in _PARTS:
            yield from ("", f"## {title}", "")
            lines = [_line(each) for each in self._selected(select)]
            yield from lines or ["None."]
        yield from ("", "## Left in LAMB", "")
        left = list(self._left())
        if not left:
            yield "Nothing."
            return
        yield from _table_head("Table", "Rows", "Meaning")
        for name, rows, meaning in left:
            yield f"| {_text(name)} | {rows} | {_text(meaning)} |"

    def _selected(self, select: Select) -> Iterator[ReportedRow]:
        return (row for row in self.rows if not _is_left(row) and select(row))

    def _left(self) -> Iterator[tuple[str, int, str]]:
        for row in self.rows:
            if _is_left(row) and (left := left_rows(row.notes[0])):
                yield (row.table, *left)


def left_note(rows: int, meaning: str) -> str:
    """Return the note about a table that stays in LAMB."""
    return f"{rows} {'row stays' if rows == 1 else 'rows stay'} in LAMB: {meaning}"


def left_rows(note: str) -> tuple[int, str] | None:
    """Return the rows and the meaning of a note about a table that stays in LAMB, else None."""
    match = _LEFT_NOTE.match(note)
    return (int(match[1]), note[match.end() :]) if match else None


def _is_left(row: ReportedRow) -> bool:
    return not row.id and bool(row.notes) and left_rows(row.notes[0]) is not None


def _is_unusable(row: ReportedRow) -> bool:
    return not row.refusal and is_unusable(row.notes)


def _is_incomplete(row: ReportedRow) -> bool:
    return not (row.refusal or is_unusable(row.notes)) and is_incomplete(row.notes)


def _is_other(row: ReportedRow) -> bool:
    return not (row.refusal or is_unusable(row.notes) or is_incomplete(row.notes))


_PARTS: Sequence[tuple[str, str, Select]] = (
    ("will_not_answer", "Assistants that will not answer", _is_unusable),
    ("may_lack_a_part", "Assistants that may answer without a part", _is_incomplete),
    ("refused", "Rows that are not imported", lambda row: bool(row.refusal)),
    ("to_look_at", "Other rows to look at", _is_other),
)


def _row(row: ReportedRow) -> dict[str, Any]:
    members = asdict(row)
    if not row.refusal:
        del members["refusal"]
    return members


def _line(row: ReportedRow) -> str:
    place = row.id if row.table == _ASSISTANTS else f"{row.table} {row.id}"
    notes = " ".join(filter(None, (row.refusal, *row.notes)))
    return f"- {_text(place)} {_text(row.name[:_MAX_NAME])}: {_text(notes)}"


def _table_head(*titles: str) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"


def _text(text: str) -> str:
    """Return a text on one line without the marks of Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
