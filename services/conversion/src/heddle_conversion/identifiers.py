"""Identifiers, times and owners of rows, in imported databases and in Heddle's."""

from google.protobuf.timestamp_pb2 import Timestamp

DELETED_OWNER = "deleted_assistant@owi.com"
"""The owner of deleted assistants, in imported databases too."""
FILE_PREFIX = "file-"
"""Begins the identifiers of assistants that come from files. No row has such an identifier."""
MAX_ROW_ID = 2**63 - 1
LAST_SECOND = 253_402_300_799
"""The end of the year 9999, where timestamps end."""


def row_id(identifier: str) -> int | None:
    """Return the number of the row that an identifier names, None if it can be no row's."""
    if not (identifier.isascii() and identifier.isdecimal()) or len(identifier) > len("9" * 19):
        return None
    number = int(identifier)
    return number if str(number) == identifier and number <= MAX_ROW_ID else None


def timestamp(seconds: object) -> Timestamp | None:
    """Return a time of a row, None if it is not a whole number of seconds in range."""
    if not isinstance(seconds, int) or not 0 < seconds <= LAST_SECOND:
        return None
    return Timestamp(seconds=seconds)
