"""Which number of a request is which input of a tool."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from heddle_orchestrator.agent.schemas import compiled
from heddle_orchestrator.agent.values import number_places
from heddle_orchestrator.agent.words import listed, stems, telling, words

_MOST_NUMBERS = _MOST_INPUTS = 6
"""There are 13,000 ways to give so many to so many."""
_NEAR = 2
"""Words between a number and what says what it is."""
_CUE, _NEEDED, _TURNED = 4.0, 10.0, 0.5
_COUNTS = listed("limit count top max maximum results size number amount k n")
_COUNTING = listed("first top last most only")
_MONEY = listed("price cost budget euros euro dollars dollar eur usd gbp pounds")
_SIGNS = "€$£"
_YEARS = range(1900, 2101)


def assigned(
    request: str, inputs: Mapping[str, Mapping[str, Any]], needed: Sequence[str]
) -> dict[str, Any]:
    """Return a number of the request for each input that it has one for.

    An input that may be left out gets one only if words beside the number, or the number itself,
    say so.

    Args:
        request: What a person asks.
        inputs: The schemas of the inputs that are numbers, by name.
        needed: Those that must have one.
    """
    places = number_places(request)[:_MOST_NUMBERS]
    chosen = sorted(inputs, key=lambda name: name not in needed)[:_MOST_INPUTS]
    fits = {
        name: _fitting(request, places, name, inputs[name], needed=name in needed)
        for name in inputs
        if name in chosen
    }
    best: dict[str, Any] = {}
    most = 0.0
    for way in _ways(list(fits.items())):
        points = sum(each.cue * _CUE + (_NEEDED if name in needed else 0.0) for name, each in way)
        starts = [each.place[0] for _, each in way]
        points -= _TURNED * (starts != sorted(starts))
        if points > most:
            best, most = {name: each.value for name, each in way}, points
    return best


_Place = tuple[int, int, float]


class _Fit(NamedTuple):
    """A number that may be an input."""

    place: _Place
    value: float
    cue: float


def _fitting(
    request: str, places: Sequence[_Place], name: str, schema: Mapping[str, Any], *, needed: bool
) -> list[_Fit]:
    found = []
    for place in places:
        value = _typed(place[2], schema)
        cue = 0.0 if value is None else _cue(request, place, name, schema)
        if value is not None and (needed or cue):
            found.append(_Fit(place, value, cue))
    return found


def _ways(
    fits: Sequence[tuple[str, Sequence[_Fit]]], taken: frozenset[_Place] = frozenset()
) -> Iterator[list[tuple[str, _Fit]]]:
    """Yield all ways to give numbers to inputs, each number once, in the order of the inputs."""
    if not fits:
        yield []
        return
    (name, found), *others = fits
    for each in found:
        if each.place not in taken:
            for rest in _ways(others, taken | {each.place}):
                yield [(name, each), *rest]
    yield from _ways(others, taken)


def _typed(value: float, schema: Mapping[str, Any]) -> float | None:
    if schema.get("type") == "integer" and not value.is_integer():
        return None
    made = int(value) if value.is_integer() else value
    usable = compiled(schema)
    return made if usable is None or usable.fitting([made]) else None


def _cue(request: str, place: _Place, name: str, schema: Mapping[str, Any]) -> float:
    """Return how clearly a request says that a number is this input, 0 to 1."""
    start, end, value = place
    before = words(request[:start])[-_NEAR:]
    after = words(request[end:])[:_NEAR]
    called = stems(words(name.replace("_", " ")))
    told = stems(telling(str(schema.get("description", ""))))
    if _share(called, [*before[-1:], *after[:1]]):
        return 1.0
    if _share(called, [*before, *after]):
        return 0.8
    if _share(told, [*before, *after]):
        return 0.6
    parts = set(words(name.replace("_", " ")))
    if parts & {"year", "since", "until"} and value in _YEARS:
        return 0.5
    counted = _COUNTING & set(before[-1:]) or (len(words(request[:start])) <= _NEAR and before)
    if parts & _COUNTS and counted and after:
        return 0.5
    money = _MONEY & {*before, *after} or _beside(request, start, end) in _SIGNS
    said = parts | set(words(str(schema.get("description", ""))))
    return 0.5 if money and said & (_MONEY | {"amount"}) else 0.0


def _share(known: frozenset[str], said: Sequence[str]) -> bool:
    """Return whether words are among those known, in the singular or the plural."""
    return bool(stems(map(_singular, known)) & stems(map(_singular, said)))


def _singular(word: str) -> str:
    return word.removesuffix("s")


def _beside(request: str, start: int, end: int) -> str:
    """Return the sign before or after a number; a letter if there is none."""
    around = (request[:start].rstrip()[-1:], request[end:].lstrip()[:1])
    return next((sign for sign in around if sign and sign in _SIGNS), "-")
