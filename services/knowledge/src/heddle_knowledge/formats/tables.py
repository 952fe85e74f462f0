"""Tables: a line for each row, bars between its cells."""

from collections.abc import Iterable


def table_lines(rows: Iterable[Iterable[str]], headers: int = 1) -> tuple[str, str]:
    """Write a table; rows without text are left out.

    Args:
        rows: Its cells.
        headers: How many rows at its beginning name the columns.

    Returns:
        All lines, and those of the header.
    """
    lines = [line for row in rows if (line := _line(row))]
    return "\n".join(lines), "\n".join(lines[:headers])


def _line(cells: Iterable[str]) -> str:
    written = [" ".join(cell.split()) for cell in cells]
    return " | ".join(written).strip() if any(written) else ""
