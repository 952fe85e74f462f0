"""Output: results on standard output, everything else on standard error."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

# Long lines are not wrapped: programs may read the output.
out = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
notes = Console(markup=False, highlight=False, emoji=False, soft_wrap=True, stderr=True)

_PRINTED = "\n\t"
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in _PRINTED}


def plain(text: str) -> str:
    """Return `text` without control characters, and with `?` for lone surrogates.

    A terminal would obey escape sequences in documents and texts of models. Names of files can
    contain any bytes.
    """
    return text.translate(_CONTROLS).encode(errors="replace").decode()


def bars(*, shown: bool) -> Progress:
    """Return progress bars, which disappear at the end of their block, or none if not `shown`."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not shown,
    )


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, for example `2 passages`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def show(
    document: Mapping[str, Any],
    rows: Iterable[Sequence[str]],
    *,
    as_json: bool,
    head: Sequence[str] = (),
    without: str = "",
) -> None:
    """Print a document as JSON, or the rows that were made of it as columns."""
    if as_json:
        # ASCII: texts cannot control the terminal.
        out.print(json.dumps(document, indent=2))
    else:
        columns(rows, head=head, without=without)


def columns(rows: Iterable[Sequence[str]], *, head: Sequence[str] = (), without: str = "") -> None:
    """Print rows in columns below a head; `without` rows, print a text in their place."""
    cells = [[" ".join(plain(cell).split()) for cell in row] for row in rows]
    if not cells and without:
        notes.print(without, style="dim")
        return
    if head:
        cells.insert(0, [*head])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        out.print("  ".join(padded).rstrip())
