"""The audit event of a batch of rows: one for all of them."""

import hashlib
from collections.abc import Iterable, Iterator

from heddle_runtime.contract.audit import Change, text_of


def batch_change(
    action: str,
    table: str,
    rows: int,
    ids: Iterable[str],
    contents: object,
    slug: str = "",
) -> Change:
    """Return the change of a batch.

    Args:
        action: The action.
        table: The table of the rows.
        rows: Their number.
        ids: Their ids.
        contents: What was written to them, a JSON value. The event has a digest of it.
        slug: Of the organisation of all rows; empty if there are several.
    """
    after = {
        "table": table,
        "rows": rows,
        "ids": ",".join(ids),
        "contents": hashlib.sha256(text_of(contents).encode()).hexdigest(),
    }
    return Change(action, table, slug, after=after)


def ranges(ids: Iterable[int]) -> Iterator[str]:
    """Yield numbers in ascending order, runs of numbers as `first-last`."""
    first = last = None
    for number in sorted(ids):
        if last is not None and number == last + 1:
            last = number
            continue
        if last is not None:
            yield _range(first, last)
        first = last = number
    if last is not None:
        yield _range(first, last)


def _range(first: int | None, last: int) -> str:
    return str(last) if first == last else f"{first}-{last}"
