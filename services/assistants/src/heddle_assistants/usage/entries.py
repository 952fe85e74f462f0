"""Checks and sums the usage that services report."""

from typing import NamedTuple

from heddle.usage.v1 import usage_pb2 as pb
from heddle_conversion.identifiers import row_id
from heddle_runtime.errors import InvalidRequestError, Violation

COUNTS = tuple(field.name for field in pb.Counts.DESCRIPTOR.fields)
"""The fields of `Counts`, which are columns of `usage` too."""
MOST = 5000
_LARGEST = 10**12
_LONGEST_RECORDER = 64
_LONGEST_NAME = 200


class Entry(NamedTuple):
    """The usage of one model by one assistant."""

    number: int
    assistant: int
    connector: str
    model: str
    counts: pb.Counts


def entries_of(request: pb.RecordUsageRequest) -> list[Entry]:
    """Return the entries whose assistants may be in the database.

    Raises:
        InvalidRequestError: Something is wrong; the violation says what.
    """
    if not request.recorder or len(request.recorder) > _LONGEST_RECORDER:
        raise _wrong("recorder", f"must have 1 to {_LONGEST_RECORDER} characters")
    if "\0" in request.recorder:
        raise _wrong("recorder", "must not contain the character NUL")
    if len(request.entries) > MOST:
        raise _wrong("entries", f"must be at most {MOST}")
    if len(request.settled_reservations) > MOST:
        raise _wrong("settled_reservations", f"must be at most {MOST}")
    entries = (_entry(entry, f"entries[{at}]") for at, entry in enumerate(request.entries))
    return [entry for entry in entries if entry is not None]


def _entry(message: pb.UsageEntry, place: str) -> Entry | None:
    if message.number <= 0:
        raise _wrong(f"{place}.number", "must be above 0")
    counts = message.counts
    if not all(0 <= getattr(counts, name) <= _LARGEST for name in COUNTS):
        raise _wrong(f"{place}.counts", f"must be from 0 to {_LARGEST}")
    if counts.cached_tokens > counts.prompt_tokens:
        raise _wrong(f"{place}.counts.cached_tokens", "must not be more than prompt_tokens")
    number = row_id(message.assistant_id)
    if number is None:  # of a file, or of no assistant
        return None
    model = message.model
    return Entry(
        message.number, number, _shortened(model.connector), _shortened(model.model), counts
    )


def _shortened(name: str) -> str:
    """Return a name that both databases can store: an odd one must not lose the usage of others."""
    return name.replace("\0", "")[:_LONGEST_NAME]


def _wrong(field: str, what: str) -> InvalidRequestError:
    return InvalidRequestError("The usage is not valid.", [Violation(field, what)])
