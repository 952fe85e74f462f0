"""A calendar in an .ics file as an MCP server: `python calendar_server.py FILE.ics`.

It speaks over its standard streams and changes nothing. It reads events of days and of hours, in
time zones, that happen once, daily or weekly.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import count, islice, takewhile
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
STEPS = {"DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
READ_PARTS = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "WKST"}
server = MCPServer("calendar")


@dataclass(frozen=True)
class Event:
    """An event, which can happen several times."""

    start: datetime
    length: timedelta
    whole_days: bool
    text: str
    rule: dict[str, str]
    left_out: frozenset[datetime]

    @property
    def step(self) -> timedelta | None:
        """The time between two repetitions; None if there are none, or none that are understood."""
        return STEPS.get(self.rule.get("FREQ", "")) if self.rule.keys() <= READ_PARTS else None

    def starts(self) -> Iterator[datetime]:
        """Yield when the event begins, each time, in this order."""
        if self.step is None:
            yield self.start
            return
        days = [day for day in self.rule.get("BYDAY", "").split(",") if day in WEEKDAYS]
        weekday = self.start.weekday()
        offsets = sorted((WEEKDAYS.index(day) - weekday) % 7 for day in days) or [0]
        every = self.step * int(self.rule.get("INTERVAL", "1"))
        until = self.rule.get("UNTIL")
        last = (
            moment(until, self.start.tzinfo or UTC) if until else datetime.max.replace(tzinfo=UTC)
        )
        repeated = (
            self.start + every * number + timedelta(days=offset)
            for number in count()
            for offset in offsets
        )
        for start in islice(repeated, int(self.rule.get("COUNT", "10000"))):
            if start > last:
                return
            if start not in self.left_out:
                yield start


def moment(value: str, zone: tzinfo) -> datetime:
    """Return a date or a time of a calendar; the end of the text says whether it is in UTC."""
    if len(value) == len("20261126"):
        return datetime.strptime(value, "%Y%m%d").replace(tzinfo=zone)
    parsed = datetime.strptime(value.removesuffix("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - next line
    return parsed.replace(tzinfo=UTC if value.endswith("Z") else zone)


def read(text: str) -> tuple[list[Event], tzinfo]:
    """Return the events of a calendar, and its time zone."""
    unfolded = re.sub(r"\r?\n[ \t]", "", text).replace("\r", "")
    named = re.search(r"^X-WR-TIMEZONE:(.+)$", unfolded, re.MULTILINE)
    zone = ZoneInfo(named[1].strip()) if named else UTC
    without_alarms = re.sub(r"BEGIN:VALARM\n.*?END:VALARM\n", "", unfolded, flags=re.DOTALL)
    blocks = re.findall(r"BEGIN:VEVENT\n(.*?)END:VEVENT", without_alarms, re.DOTALL)
    return [event(block, zone) for block in blocks], zone


def event(block: str, calendar_zone: tzinfo) -> Event:
    """Return the event of a VEVENT."""
    properties = re.findall(r"^([\w-]+)((?:;[^:\n]+)?):(.*)$", block, re.MULTILINE)
    values = {name: value for name, _, value in properties}
    zones = {name: re.search(r"TZID=\"?([^;\"]+)", more) for name, more, _ in properties}

    def when(name: str, value: str) -> datetime:
        zone = zones[name]
        return moment(value, ZoneInfo(zone[1]) if zone else calendar_zone)

    start = when("DTSTART", values["DTSTART"])
    whole_days = "T" not in values["DTSTART"]
    end = (
        when("DTEND", values["DTEND"]) if "DTEND" in values else start + timedelta(days=whole_days)
    )
    rule = dict(part.split("=") for part in values.get("RRULE", "").split(";") if part)
    left_out = [
        when(name, each)
        for name, _, value in properties
        if name == "EXDATE"
        for each in value.split(",")
    ]
    texts = [
        plain(values[name]) for name in ("SUMMARY", "LOCATION", "DESCRIPTION") if values.get(name)
    ]
    return Event(start, end - start, whole_days, ", ".join(texts), rule, frozenset(left_out))


def plain(text: str) -> str:
    """Return a text of a calendar without its escapes, as one line."""
    return re.sub(r"\\(.)", lambda match: " " if match[1] in "nN" else match[1], text)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_events(
    first_day: Annotated[
        date | None, Field(description="The first day, YYYY-MM-DD. Without it, today.")
    ] = None,
    days: Annotated[int, Field(ge=1, le=366, description="How many days.")] = 7,
    words: Annotated[str, Field(description="Only events that contain all of these words.")] = "",
) -> str:
    """Lists the events of the calendar in a span of days, the earliest first."""
    try:
        events, zone = read(Path(sys.argv[1]).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError) as error:
        raise ToolError("The calendar cannot be read.") from error
    now = datetime.now(zone)
    first = datetime.combine(first_day or now.date(), datetime.min.time(), zone)
    end = first + timedelta(days=days)
    folded_words = words.casefold().split()
    listed = [
        (start.astimezone(zone), each)
        for each in events
        if all(word in each.text.casefold() for word in folded_words)
        for start in takewhile(lambda start: start < end, each.starts())
        if start >= first or start + each.length > first
    ]
    listed.sort(key=lambda pair: pair[0])
    span = f"{first:%Y-%m-%d} to {end - timedelta(days=1):%Y-%m-%d}"
    head = f"Today is {now:%A %Y-%m-%d}. {len(listed)} events from {span}, times in {zone}:"
    return "\n".join([head, *(line(start, each) for start, each in listed)])


def line(start: datetime, each: Event) -> str:
    """Return one event as a line."""
    end = start + each.length
    if each.whole_days:
        last = end - timedelta(days=1)
        time = f"to {last:%A %Y-%m-%d}, all day" if last > start else "all day"
    else:
        time = f"{start:%H:%M}-{end:%H:%M}"
    unknown = " (repeats by a rule that is not read)" if each.rule and each.step is None else ""
    return f"{start:%A %Y-%m-%d} {time} {each.text}{unknown}"


if __name__ == "__main__":
    server.run("stdio")
