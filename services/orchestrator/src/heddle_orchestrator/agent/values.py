"""What of a request can be an input of a tool that not any text can be: numbers, dates, choices."""

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from heddle_orchestrator.agent.days import dates, day_places, is_date
from heddle_orchestrator.agent.schemas import compiled
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
    usable = compiled(schema)
    return list(dict.fromkeys(usable.fitting(found) if usable else ()))


def number_places(request: str) -> list[tuple[int, int, float]]:
    """Return where a request has numbers, in figures or in words: start, end and value."""
    days = day_places(request)
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
    """Return which of some values a request mentions, in its order; words that are equal win."""
    said = words(request)
    for alike in (operator.eq, _alike):
        found = []
        for value in values:
            wanted = words(str(value).replace("_", " "))
            places = [
                next((p for p, w in enumerate(said) if alike(each, w)), -1) for each in wanted
            ]
            if places and min(places) >= 0:
                found.append((places[0], value))
        if found:
            return [value for _, value in sorted(found, key=lambda each: each[0])]
    return []


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
