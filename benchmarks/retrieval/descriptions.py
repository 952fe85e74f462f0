"""Short texts of Debian that describe one thing in two ways: the one asks for the other."""

import gzip
import re
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from benchmarks.retrieval.labelled import E5, MINILM, Labelled, plain
from benchmarks.retrieval.packages import descriptions, from_debian

_MOST, _FEWER = 300, 150
_MANY = {"en", "de"}
_SHORTEST = 150  # characters of a description
_SAME = 60  # first characters of two descriptions of one family of packages
_LISTED = {"pt": "pt_BR", "zh": "zh_CN"}
_ENTRY = re.compile(r"\n\n(?=\S)")
_MARKS = re.compile(r"[{}]|\(\d{4}-\d\d-\d\d\)|<[^<>]*>")


def packages(folder: Path, language: str, *, back: bool = False) -> Labelled:
    """The summary of a package asks for its description, in a language that people translated to.

    Args:
        folder: Where packages are kept.
        language: As a collection names it.
        back: The description asks for the summary.
    """
    found = _packages(descriptions(folder, _LISTED.get(language, language)))
    sides = {
        name: (both if back else both[::-1])
        for name, both in _some(found, _MOST if language in _MANY else _FEWER).items()
    }
    return _known(f"{'summaries' if back else 'packages'}-{language}", language, sides)


def glossary(folder: Path) -> Labelled:
    """A word of the Free On-line Dictionary of Computing asks for what it means."""
    path = from_debian(folder, "dict-foldoc") / "usr/share/dictd/foldoc.dict.dz"
    text = gzip.decompress(path.read_bytes()).decode()
    found: dict[str, tuple[str, str]] = {}
    for entry in _ENTRY.split(text):
        head, _, body = entry.partition("\n")
        meaning = " ".join(_MARKS.sub("", body).split())
        found[head] = (head, meaning)
    sides = {name: both[::-1] for name, both in _some(found, _MOST).items()}
    return _known("glossary", "en", sides)


def _packages(text: str) -> dict[str, tuple[str, str]]:
    """Return summary and description by the name of the package."""
    found: dict[str, tuple[str, str]] = {}
    for entry in text.split("\n\n"):
        name, _, rest = entry.partition("\n")
        lines = rest.split("\n")[1:]
        if not lines:
            continue
        summary = lines[0].partition(": ")[2]
        body = "\n".join(line.strip().removeprefix(".") for line in lines[1:])
        found[name.partition(": ")[2]] = (summary, body)
    return found


def _some(found: dict[str, tuple[str, str]], most: int) -> dict[str, tuple[str, str]]:
    """Choose some by chance, always the same, and none that looks like another."""
    chosen: dict[str, tuple[str, str]] = {}
    seen: set[str] = set()
    for name in sorted(found, key=lambda it: sha256(it.encode()).digest()):
        short, long = found[name]
        marks = {short, long[:_SAME]}
        if len(long) >= _SHORTEST and not marks & seen and len(chosen) < most:
            chosen[name] = (short, long)
            seen |= marks
    return chosen


def _known(name: str, language: str, sides: dict[str, tuple[str, str]]) -> Labelled:
    """Return the set in which the second of each pair asks for the first."""
    return Labelled(
        name,
        MINILM if language == "en" else E5,
        None,
        MappingProxyType({key: plain(sought) for key, (sought, _) in sides.items()}),
        [(asked, frozenset([key])) for key, (_, asked) in sides.items()],
        language=language,
    )
