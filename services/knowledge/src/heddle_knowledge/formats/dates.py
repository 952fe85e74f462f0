"""Dates as documents write them."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_PDF = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:Z.*|([+-])(\d\d)'?(\d\d)?'?)?"
)
_MONTH = re.compile(r"(\d{4})(?:-(\d\d))?")


def read_date(text: str) -> datetime | None:
    """Read a date in the form of ISO 8601, of e-mail, or of PDF; UTC where no zone is said.

    Returns:
        The time in UTC, the first moment of a day, month or year; or None if the text is no date.
    """
    text = text.strip()
    for read in (datetime.fromisoformat, _month, _pdf, parsedate_to_datetime):
        try:
            match = read(text)
            if match is not None:
                return match.astimezone(UTC) if match.tzinfo else match.replace(tzinfo=UTC)
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return None


def first_date(*texts: str) -> datetime | None:
    """Return the first of the texts that is a date."""
    return next((match for text in texts if (match := read_date(text))), None)


def _month(text: str) -> datetime | None:
    match = _MONTH.fullmatch(text)
    return datetime(int(match[1]), int(match[2] or 1), 1, tzinfo=UTC) if match else None


def _pdf(text: str) -> datetime | None:
    match = _PDF.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second, sign, ahead, past = match.groups()
    zone = f"{sign}{ahead}:{past or '00'}" if sign else "+00:00"
    return datetime.fromisoformat(
        f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}"
        f"{zone}"
    )
