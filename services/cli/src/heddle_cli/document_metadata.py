"""Metadata and times of documents on the command line."""

from collections.abc import Iterable
from datetime import UTC, datetime

import typer
from google.protobuf.timestamp_pb2 import Timestamp


def entries(texts: Iterable[str]) -> dict[str, str]:
    """Read `key=value` texts.

    Raises:
        BadParameter: A text has no key, or no `=`.
    """
    metadata: dict[str, str] = {}
    for text in texts:
        key, mark, value = text.partition("=")
        if not (key and mark):
            raise typer.BadParameter(
                f"{text!r} is no entry. Write key=value.", param_hint="--metadata"
            )
        metadata[key] = value
    return metadata


def time_of(text: str) -> Timestamp | None:
    """Read a date or a time in ISO 8601, in UTC unless it names a zone; None if there is no text.

    Raises:
        BadParameter: It is neither.
    """
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        time = Timestamp()
        time.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):  # the year 0 or 10000 in UTC
        raise typer.BadParameter(
            f"{text!r} is no date. Write it as 2026-03-31 or 2026-03-31T12:00:00+02:00.",
            param_hint="--date",
        ) from None
    return time
