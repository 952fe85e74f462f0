"""The days that a request names."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

_ISO = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_MONTHS = "january february march april may june july august september october november december"
_MONTH = "|".join(f"{each[:3]}(?:{each[3:]})?" for each in _MONTHS.split())
_DATES = (
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b\.?"
               r"(?:,? (?P<year>\d{4}))?", re.IGNORECASE),
    re.compile(rf"\b(?P<month>{_MONTH})\b\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
               r"(?:,? (?P<year>\d{4}))?", re.IGNORECASE),
    re.compile(r"(?<![\d/.])(?P<day>\d{1,2})[/.](?P<number>\d{1,2})[/.](?P<year>\d{4})(?!\d)"),
)  # fmt: skip
_DAYS = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_PREFIX = 3


def is_date(name: str, schema: Mapping[str, Any]) -> bool:
    """Return whether an input is a day, by its format or by what is said of it."""
    said = f"{name} {schema.get('description', '')}".casefold()
    return schema.get("format") == "date" or "yyyy-mm-dd" in said


def dates(request: str, today: date) -> list[date]:
    """Return the days that a request names, in ISO's form or in English; else the next such."""
    found: list[tuple[int, date]] = []
    for match in _ISO.finditer(request):
        with suppress(ValueError):
            found.append((match.start(), date.fromisoformat(match[0])))
    for pattern in _DATES:
        for match in pattern.finditer(request):
            with suppress(ValueError):
                found.append((match.start(), _day(match.groupdict(), today)))
    found += [
        (match.start(), today + timedelta(_DAYS[match[0].casefold()]))
        for match in re.finditer(r"\w+", request)
        if match[0].casefold() in _DAYS
    ]
    return [day for _, day in sorted(found)]


def _day(told: Mapping[str, str | None], today: date) -> date:
    month = int(told["number"] or 0) if "number" in told else _month(told["month"] or "")
    day = date(int(told["year"] or today.year), month, int(told["day"] or 0))
    return day if told["year"] or day >= today else day.replace(year=today.year + 1)


def _month(name: str) -> int:
    starts = [each[:_PREFIX] for each in _MONTHS.split()]
    return starts.index(name[:_PREFIX].casefold()) + 1


def day_places(request: str) -> list[tuple[int, int]]:
    """Return where a request names days with figures: starts and ends."""
    return [match.span() for pattern in (_ISO, *_DATES) for match in pattern.finditer(request)]
