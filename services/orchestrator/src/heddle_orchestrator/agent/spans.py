"""Pieces of a request that could be an input: what a small model may copy, and nothing else."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from heddle_orchestrator.agent.words import is_empty, listed, stems, words

_WORD = re.compile(r"\S+")
_QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^“”]+)”|«([^«»]+)»|‘([^‘’]+)’|(?<!\w)'([^']+(?:'\w[^']*)*)'(?!\w)"  # noqa: RUF001 - see below
)
_AROUND = "¿¡.,;:!?\"'()[]«»“”‘’"  # noqa: RUF001 - the quotation marks of people
_OWN = re.compile(r"['’]s$")  # noqa: RUF001 - see above
_AFTER_COLON = re.compile(r"[^\s\d]:\s+(\S.*\S)\s*$", re.DOTALL)
_AFTER_THAT = re.compile(r"\bthat (\S.*\S)\s*$", re.DOTALL)
_SUM = re.compile(r"[-+]?[(\d][\d.\s()]*(?:(?:[-+*/^%]|\*\*)[\s\d.()]+)+")
_FILE = re.compile(r"[\w./-]*\w\.[a-z][a-z0-9]{1,4}\b", re.IGNORECASE)
_OPERATORS = {
    r"\bplus\b|(?<=\d) and (?=\d)": "+",
    r"\bminus\b": "-",
    r"\btimes\b|\bmultiplied by\b|×|(?<=\d)\s*x\s*(?=\d)": "*",  # noqa: RUF001 - the sign of people
    r"\bdivided by\b|\bover\b|÷": "/",
}
_LONGEST = 8
"""Words of a piece."""
_MOST = 120
"""Pieces to choose from: more make the engine's grammar slow."""
_ARTICLES = listed("a an the my our your me us some un una el la els les le mi mis der die das ein")
"""What comes behind a first word that says what to do: `Book a room`."""
_BREAKS = ",;:?!"
_VERBS = listed("is are was were does do did can has es son está són sont ist sind hat")
"""Words that no name of a thing goes through, but whole sentences do."""
_SHORT = 3
_BESIDE = listed(
    """
    please today tomorrow tonight now yesterday again yet soon thanks some any something anything
    somebody anybody someone anyone just really also still already need wanted like would hoy mañana
    avui demà favor proper próximo next last this good best
    """
)


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    end: int
    weak: bool
    """Whether no piece begins or ends with it."""
    ends: bool
    """Whether a clause ends behind it."""
    verb: bool


def quoted(request: str) -> list[str]:
    """Return what stands in quotation marks."""
    found = (next(filter(None, match.groups())) for match in _QUOTED.finditer(request))
    return [each.strip() for each in found]


def told(request: str) -> str:
    """Return the text that a request is about, where it says so: after a colon, or after `that`."""
    found = _AFTER_COLON.search(request) or _AFTER_THAT.search(request)
    return found[1].strip(" \"'“”") if found else ""


def arithmetic(request: str) -> str:
    """Return the sum that a request is about, with signs in place of words; empty without one."""
    request = " ".join(request.split())  # long gaps take a pattern long
    for phrase, sign in _OPERATORS.items():
        request = re.sub(rf"\s*(?:{phrase})\s*", f" {sign} ", request, flags=re.IGNORECASE)
    found = _SUM.search(request)
    return found[0].strip(" .") if found else ""


def file_names(request: str) -> list[str]:
    """Return what has the form of a file's name."""
    return _FILE.findall(request)


def pieces(
    request: str, said: AbstractSet[str], taken: Sequence[str] = (), *, clauses: bool = False
) -> list[str]:
    """Return pieces of a request that could be an input, each once.

    Args:
        request: What a person asks.
        said: Beginnings of words that tell what the tool is for: they say which tool is wanted,
            not what it gets, so that no piece begins or ends with them.
        taken: Pieces that are other inputs already: none holds one of them.
        clauses: Whether a piece may be a whole clause, or go through several.
    """
    places = [each for match in _WORD.finditer(request) if (each := _place(request, match, said))]
    free: list[str] = []
    strong = [each for each in places if not each.weak]
    for longest in range(_LONGEST, 0, -1):
        runs = [run for run in _runs(places, longest) if clauses or not _is_clause(run)]
        runs = [run for run in runs if not (strong and (run[0].weak or run[-1].weak))]
        found = dict.fromkeys(request[run[0].start : run[-1].end] for run in runs)
        free = [each for each in found if not any(other in each for other in taken)]
        if len(free) <= _MOST:
            break
    return free[:_MOST]


def _runs(places: Sequence[_Place], longest: int) -> Iterator[Sequence[_Place]]:
    for first in range(len(places)):
        for last in range(first, min(first + longest, len(places))):
            yield places[first : last + 1]


def is_clause(text: str) -> bool:
    """Return whether a text is more than the name of a thing."""
    said = text.split()
    return any(word in _VERBS for word in words(text)) or any(
        word[-1] in _BREAKS for word in said[:-1]
    )


def _is_clause(run: Sequence[_Place]) -> bool:
    return any(place.ends for place in run[:-1]) or any(place.verb for place in run)


def _place(request: str, match: re.Match[str], said: AbstractSet[str]) -> _Place | None:
    text = match[0]
    left = len(text) - len(text.lstrip(_AROUND))
    core = _OWN.sub("", text.strip(_AROUND))
    if not core:
        return None
    start = match.start() + left
    begins = start == 0 or request[:start].rstrip()[-1:] in ".!?:"
    named = core[0].isupper() and not begins
    beginnings = stems(words(core))
    empty = all(is_empty(word) or word in _BESIDE for word in words(core))
    told = empty or all(_begins(each, said) for each in beginnings)
    commands = start == 0 and bool(_ARTICLES & set(words(request[match.end() :])[:1]))
    weak = bool(beginnings) and (told or commands)
    end = start + len(core)
    ends = any(sign in _BREAKS for sign in request[end : match.end()])
    return _Place(start, end, weak and not named, ends, core.casefold() in _VERBS)


def _begins(word: str, said: AbstractSet[str]) -> bool:
    """Return whether a word is one of those that were said, or short for it."""
    return word in said or (len(word) >= _SHORT and any(each.startswith(word) for each in said))
