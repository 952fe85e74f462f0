"""What of a request can be an input of a tool that not any text can be: numbers, dates, choices."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from heddle_orchestrator.agent.words import listed, words

_NUMBER = re.compile(r"(?<![\w.,/-])-?\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_NUMBER_WORDS = {
    word: number
    for number, found in enumerate(  # without set, once and elf, which are English words too
        (
            "one",
            "two dos dues deux zwei",
            "three tres trois drei",
            "four cuatro quatre vier",
            "five cinco cinc cinq fünf",
            "six seis sis sechs",
            "seven siete sept sieben",
            "eight ocho vuit huit acht",
            "nine nueve nou neuf neun",
            "ten diez deu dix zehn",
            "eleven onze",
            "twelve doce dotze douze zwölf",
        ),
        start=1,
    )
    for word in found.split()
}
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
_FORMATS = {
    "email": re.compile(r"[^\s<>\"'(),:;]+@[^\s<>\"'(),:;]+\.\w+"),
    "uri": re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,;:!?)]"),
    "time": re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?\b"),
}
_LONGEST = 6
_PREFIX = 3
_STEM = 5
_NEGATIVE = listed("off no not without don't never disable disabled hide nicht ohne sin sense sans")


def plain(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - any JSON Schema
    """Return the schema of one input without references, and without `null` as its alternative."""
    if not isinstance(schema, dict):
        return {}
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        found = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
        return {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
    others = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(others) == 1:
        return {**schema, **plain(others[0], root)}
    return schema


def values_in(request: str, name: str, schema: Mapping[str, Any]) -> list[Any] | None:
    """Return what of a request can be an input, in the order of the request, each once.

    Args:
        request: What a person asks.
        name: Of the input.
        schema: Of the input, as `plain` returns it.

    Returns:
        None if any text can be it.
    """
    if "enum" in schema or "const" in schema:
        return _mentioned(request, schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind in ("integer", "number"):
        found: Iterator[Any] = _numbers(request, whole=kind == "integer")
    elif kind == "boolean":
        return [not _NEGATIVE & set(words(request))]
    elif kind != "string":
        return None
    elif is_date(name, schema):
        found = (each.isoformat() for each in dates(request, date.today()))  # noqa: DTZ011 - the person's day, as far as is known
    elif (pattern := _FORMATS.get(schema.get("format", ""))) is not None:
        found = iter(pattern.findall(request))
    elif "pattern" in schema:
        found = _runs(request)
    else:
        return None
    validator = Draft202012Validator(dict(schema))
    kept: list[Any] = []
    with suppress(SchemaError, RecursionError, re.error):
        kept = [each for each in found if validator.is_valid(each)]
    return list(dict.fromkeys(kept))


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


def number_places(request: str) -> list[tuple[int, int, float]]:
    """Return where a request has numbers, in figures or in words: start, end and value."""
    days = [match.span() for pattern in (_ISO, *_DATES) for match in pattern.finditer(request)]
    found = [
        (*match.span(), _number(match[0]))
        for match in _NUMBER.finditer(request)
        if not any(start <= match.start() < end for start, end in days)
    ]
    found += [
        (*match.span(), float(_NUMBER_WORDS[match[0].casefold()]))
        for match in re.finditer(r"\w+", request)
        if match[0].casefold() in _NUMBER_WORDS
    ]
    return sorted(found)


def _numbers(request: str, *, whole: bool) -> Iterator[float]:
    for _, _, value in number_places(request):
        if value.is_integer():
            yield int(value)
        elif not whole:
            yield value


def _number(text: str) -> float:
    if _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    try:
        return float(text.replace(",", "."))
    except ValueError:  # 1.2.3
        return float(text.split(".", maxsplit=1)[0].split(",", maxsplit=1)[0])


def _mentioned(request: str, values: Sequence[Any]) -> list[Any]:
    """Return which of some values a request mentions, in its order."""
    said = words(request)
    found = []
    for value in values:
        wanted = words(str(value).replace("_", " "))
        places = [
            next((place for place, word in enumerate(said) if _alike(each, word)), -1)
            for each in wanted
        ]
        if places and min(places) >= 0:
            found.append((places[0], value))
    return [value for _, value in sorted(found, key=lambda each: each[0])]


def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= _PREFIX and (long.startswith(short) or one[:_STEM] == other[:_STEM])


def _runs(request: str) -> Iterator[str]:
    """Yield everything that could be a code: up to six words in a row, and parts of words."""
    found = list(re.finditer(r"[^\s.,;:!?()\"']+(?:[.:'-][^\s.,;:!?()\"']+)*", request))
    for length in range(_LONGEST, 0, -1):
        for first in range(len(found) - length + 1):
            yield request[found[first].start() : found[first + length - 1].end()]
