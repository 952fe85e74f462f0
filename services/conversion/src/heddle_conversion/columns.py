"""Columns of version 1 beside the metadata, within the bounds of the tools that use them now."""

from dataclasses import dataclass

TOP_K = 3
MOST_RESULTS = 20
MOST_COLLECTIONS = 64

Notes = tuple[str, ...]
"""Notes for a person, a sentence each. They name tools and slots, never other values."""


@dataclass(frozen=True, slots=True)
class LegacyColumns:
    """The values that only columns held before version 2."""

    top_k: int | str | None = None
    """`RAG_Top_k`. None if the row or the request does not tell."""
    collections: str | None = None
    """`RAG_collections`, separated by commas. None if the row or the request does not tell."""
    exact: bool = False
    """Whether values beyond the bounds stay as they are: those of a request are refused later."""


def collections_of(column: object, *, exact: bool = False) -> tuple[list[str], Notes]:
    """Return the collections that a column names; unless `exact`, as many as a search may have."""
    text = str(column) if isinstance(column, str | int) else ""
    named = [name for part in text.split(",") if (name := part.strip())]
    if len(named) > MOST_COLLECTIONS and not exact:
        note = f"RAG_collections names more than {MOST_COLLECTIONS}; the first ones are searched."
        return named[:MOST_COLLECTIONS], (note,)
    return named, ()


def top_k_of(value: object) -> tuple[int, Notes]:
    """Return the number of results of a search, as version 1 reads it, but at most 20."""
    number = _whole(value)
    if number is None:
        is_set = value is not None and value != ""
        return TOP_K, (
            "The number of results is not a whole number; it is 3 now.",
        ) if is_set else ()
    if number > MOST_RESULTS:
        return MOST_RESULTS, ("The number of results is above 20; it is 20 now.",)
    return (number, ()) if number >= 1 else (TOP_K, ())


def exact_top_k(value: object) -> object:
    """Return the number of results in a request; a value that is no whole number unchanged."""
    if value is None or value == "":
        return TOP_K
    number = _whole(value)
    return value if number is None else number


def _whole(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str():
            try:
                return int(value)
            except ValueError:
                return None
        case _:
            return None
