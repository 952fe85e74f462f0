"""What the command prints: results on standard output, everything else on standard error."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

# Long lines are left to the terminal, and to whoever reads the output by program.
out = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
notes = Console(markup=False, highlight=False, emoji=False, soft_wrap=True, stderr=True)

_KEPT = "\n\t"
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in _KEPT}


def plain(text: str) -> str:
    """Return `text` without control characters, and with a `?` for what is not Unicode.

    Documents and models write what they like; a terminal would obey their escape sequences.
    Names of files are bytes, which need not be letters in any encoding.
    """
    return text.translate(_CONTROLS).encode(errors="replace").decode()


def bars(*, shown: bool) -> Progress:
    """Return bars that say how far something is, gone when their block is left.

    Args:
        shown: Whether there are any to see.
    """
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not shown,
    )


def columns(rows: Iterable[Sequence[str]]) -> None:
    """Print `rows` in columns, the last one as wide as it is."""
    cells = [[" ".join(plain(cell).split()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        out.print("  ".join(padded).rstrip())
