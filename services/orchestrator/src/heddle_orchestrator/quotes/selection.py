"""Chooses the parts of the sources that match a question best."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from heddle.tool.v1 import tool_pb2

from heddle_orchestrator.agent.word_matching import content_words, words

_CELLS = " | "
_MIN_WIDTH, _NARROW = 60, 25
"""The widths from which lines count as broken by the page, in characters; the second if the next
line begins with a small letter."""
_FULL_LINE = 0.75
"""The share of the widest line from which a line continues on the next one."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”\u2019»)\]]*\s+(?=[\"'“\u2018«(\[¿¡]*[^\W_a-zà-ÿ])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[^\W\d_]|Prof|Dra?|Mrs?|Ms|Sra?|St|vs|etc|e\.g|i\.e|approx|Figs?|Nos?|núm|pp|pàg|pág|"
    r"Sec|Ch|Vol|Eq)\.)$"
)
_ITEM = re.compile(r"\s*(?:[-*+•◦▪☐o]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_ENDS = (".", "!", "?", "…", ":", ";")
_FACT = re.compile(r"\d|: ")
_SHORT_LINE = 160
"""Up to this length a line is quoted whole: its parts often belong together."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a passage that is quoted whole."""

    text: str
    block: int
    """The number of the paragraph, list or table in its passage."""
    is_sentence: bool = True
    """Whether it is prose; rows, items and lines of a block belong together."""
    header: str = ""
    """The names of the columns, if it is a row of a table."""

    @property
    def is_title(self) -> bool:
        """Whether it only names what follows, so that it says nothing alone."""
        if self.is_sentence or self.header:
            return self.text.endswith(":")
        item = _ITEM.match(self.text)
        says_something = " " in self.text[item.end() :] if item else _FACT.search(self.text)
        return self.text.endswith(":") or not says_something


def units_of(text: str) -> list[Unit]:
    """Return the parts of a passage, in order, its titles among them."""
    units: list[Unit] = []
    lines = _joined(text.splitlines())
    for block, (kind, group) in enumerate(groupby(lines, _kind)):
        members = list(group)
        if kind == "row" and len(members) > 1:
            header, *rows = members
            units += [Unit(row, block, is_sentence=False, header=header) for row in rows]
        elif kind in ("row", "line"):
            units += [Unit(line, block, is_sentence=False) for line in members]
        elif kind == "prose":
            units += [Unit(each, block) for line in members for each in _sentences(line)]
    return units


def _kind(line: str) -> str:
    if not line:
        return ""
    if _CELLS in line:
        return "row"
    if _ITEM.match(line):
        return "line" if len(list(_sentences(line))) == 1 else "prose"
    return "prose" if line.endswith(_ENDS[:4]) or len(line) > 2 * _MIN_WIDTH else "line"


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines, those together that the width of a page has broken."""
    widest = max(map(len, lines), default=0)
    full = _FULL_LINE * widest
    current, last, are_broken = "", "", False
    for line in map(str.strip, lines):
        follows = current and line and not _ITEM.match(line) and _CELLS not in current + line
        if follows and not current.endswith(_ENDS) and _continues(last, line, full):
            current, are_broken = f"{current} {line}", True
        else:
            if current or not line:
                yield current
            if current and not line:
                yield ""
            current = line
        last = line
    if are_broken and len(last) >= max(_MIN_WIDTH, full) and not current.endswith(_ENDS):
        # The last sentence goes on in the next passage.
        current = " ".join(list(_split(current))[:-1])
    if current:
        yield current


def _continues(line: str, following: str, full: float) -> bool:
    wide = len(line) >= max(_MIN_WIDTH, full)
    return wide or (following[:1].islower() and len(line) >= _NARROW and not line[-1].isdigit())


def _sentences(line: str) -> Iterator[str]:
    return iter([line]) if len(line) <= _SHORT_LINE else _split(line)


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(line):
        if not _ABBREVIATION.search(line[start : end.start()]):
            yield line[start : end.end()].strip()
            start = end.end()
    if rest := line[start:].strip():
        yield rest


MAX_SENTENCES, MAX_CHARS = 3, 500
_MAX_EXCERPT_CHARS = 1_000
"""The length at which tools cut excerpts, perhaps within a sentence."""
_MIN_SHARE = 0.45
"""The least score beside the best one."""
_BEFORE, _EARLIER, _AROUND = 0.5, 0.3, 0.35
"""The weights of a word in the part before, in earlier parts of the passage, and in the heading or
the header of the table, beside a word in the part itself."""
_RANK, _NUMBER, _NO_NUMBER = 0.3, 0.6, 0.6
"""The weights of the rank of the source and of a number if the question asks for one; the factor of
a part without a number then."""
_AMOUNT = re.compile(
    r"\b(?:how (?:many|much|long|often|old|far|big|large|soon|late)|when|what (?:time|date|number)"
    r"|which (?:date|day|page)|cu[aá]nt[oa]s?|cu[aá]ndo|quant[sae]*|quan|zenbat|noiz)\b",
    re.IGNORECASE,
)
"""Asks for a number or a time. These words themselves say nothing."""
_PRICE = re.compile(r"\b(?:pric|cost|fee|preci|cuesta|preu|prezio|kosta)", re.IGNORECASE)
_SHARE = re.compile(
    r"\b(?:count|weigh|worth|percent|shar|cuenta|compta|pesa|ehuneko)", re.IGNORECASE
)
"""Asks for a part of a whole, which is a match of its own with a sign for per cent."""
_DIGIT = re.compile(r"\d")
_NUMBER_WORD = re.compile(r"(?<!\w)\d(?!\))")
"""The beginning of a number, which is not a part of a name such as `make(1)` or `c2`."""
_SHORT = 4
"""Words of up to this length match only with an ending of two letters at most."""
_SHORTEST = 3


@dataclass(slots=True)
class Quote:
    """Parts of one source, in their order."""

    source: tool_pb2.Source
    units: list[Unit] = field(default_factory=list)


@dataclass(slots=True)
class _Candidate:
    source: int
    position: int
    """The position in its passage."""
    unit: Unit
    own: frozenset[str]
    """The words of the question in it."""
    score: float = 0.0

    @property
    def length(self) -> int:
        return len(self.unit.text) + len(self.unit.header)


@dataclass(frozen=True, slots=True)
class _Question:
    """What a question asks for."""

    forms: Mapping[str, str]
    """The words of the sources that are forms of its words, with the latter."""
    wants_number: bool
    wants_share: bool

    @classmethod
    def of(cls, text: str, vocabulary: Iterable[str]) -> "_Question":
        share = _SHARE.search(text) is not None
        number = share or any(each.search(text) for each in (_AMOUNT, _PRICE))
        rest = _AMOUNT.sub(" ", text)
        names = [word for word in _words(rest) if _DIGIT.search(word)]  # of parts, also short ones
        own = [word.replace("-", "") for word in (*content_words(rest), *names)]
        forms = {word: each for word in vocabulary for each in own if _is_form(each, word)}
        return cls(forms, number, share)

    def words_in(self, text: str) -> frozenset[str]:
        """Return the words of the question in a text."""
        return frozenset(self.forms[word] for word in _words(text) if word in self.forms)


def best_quotes(question: str, sources: Iterable[tool_pb2.Source]) -> list[Quote]:
    """Return what matches a question: at most three parts, of 500 characters together.

    Every part shares a word with the question, itself or by what stands above it. Rows and items of
    which none matches more than the others count as one part.
    """
    distinct: dict[str, tool_pb2.Source] = {}
    for each in sources:
        distinct.setdefault(" ".join(each.excerpt.split()), each)
    unique = list(distinct.values())
    candidates = _candidates(question, unique)
    chosen = _chosen(candidates)
    chosen.sort(key=lambda each: (each.source, each.position))
    quotes: dict[int, Quote] = {}
    for candidate in chosen:
        source = candidate.source
        quotes.setdefault(source, Quote(unique[source])).units.append(candidate.unit)
    return list(quotes.values())


def _chosen(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    scored = [each for each in candidates if each.score]
    ranked = sorted(scored, key=lambda each: each.score, reverse=True)
    chosen: list[_Candidate] = []
    parts = 0
    for each in ranked:
        if parts == MAX_SENTENCES or each.score < _MIN_SHARE * ranked[0].score:
            break
        room = MAX_CHARS - sum(other.length for other in chosen)
        for members in (_together(each, candidates), [each]):
            if each not in chosen and sum(other.length for other in members) <= room:
                chosen += members
                parts += 1
    return chosen


def _candidates(question: str, sources: Sequence[tool_pb2.Source]) -> list[_Candidate]:
    passages = [_units(each.excerpt) for each in sources]
    texts = [text for units in passages for each in units for text in (each.text, each.header)]
    around = [f"{each.title} {each.attributes.get('heading', '')}" for each in sources]
    vocabulary = {word for text in (*texts, *around) for word in _words(text)}
    wish = _Question.of(question, vocabulary)
    candidates = [
        _Candidate(index, position, unit, wish.words_in(unit.text))
        for index, units in enumerate(passages)
        for position, unit in enumerate(units)
    ]
    weights = _weights(set(wish.forms.values()), candidates)
    unit_weight = max(weights.values(), default=1.0)
    before = earlier = frozenset[str]()
    for each in candidates:
        if not each.position:
            before = earlier = frozenset()
        above = wish.words_in(f"{around[each.source]} {each.unit.header}")
        nearness = (each.own, 1.0), (before, _BEFORE), (above, _AROUND), (earlier, _EARLIER)
        score = sum(
            weight * max((share for own, share in nearness if word in own), default=0.0)
            for word, weight in weights.items()
        )
        score = _with_number(score, each.unit, wish, unit_weight)
        if score and not each.unit.is_title:
            each.score = score + _RANK * unit_weight * (1 - each.source / len(sources))
        before, earlier = each.own, earlier | each.own
    return candidates


def _with_number(score: float, unit: Unit, question: _Question, weight: float) -> float:
    """Return the score of a part, higher for a number if the question asks for one."""
    share = question.wants_share and "%" in unit.text
    if not question.wants_number or not (score or share):
        return score
    if not _NUMBER_WORD.search(unit.text):
        return score * _NO_NUMBER
    return score + _NUMBER * (1 + share) * weight


def _units(excerpt: str) -> list[Unit]:
    units = units_of(excerpt)
    return units[:-1] if len(excerpt) >= _MAX_EXCERPT_CHARS else units


def _words(text: str) -> set[str]:
    """Return the words of a text, compounds also in parts and without their hyphens."""
    whole = set(words(text))
    compounds = [word for word in whole if "-" in word]
    parts = {part for word in compounds for part in word.split("-")}
    return whole | parts | {word.replace("-", "") for word in compounds}


def _is_form(one: str, other: str) -> bool:
    """Return whether two words are probably forms of one, in any language with endings."""
    short, long = sorted((one, other), key=len)
    if short == long:
        return True
    if _DIGIT.search(short + long):
        return False
    if len(short) <= _SHORT:
        return len(short) >= _SHORTEST and len(long) - len(short) <= 2 and long.startswith(short)  # noqa: PLR2004 - an ending
    return long.startswith(short[:-1])


def _weights(question_words: Iterable[str], candidates: Sequence[_Candidate]) -> dict[str, float]:
    """Return the weight of each word: the rarer in the passages, the more."""
    counts = {word: sum(word in each.own for each in candidates) for word in question_words}
    return {word: math.log(1 + len(candidates) / (1 + each)) for word, each in counts.items()}


def _together(candidate: _Candidate, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return all lines of the candidate's block if none of them matches more than the others."""
    unit = candidate.unit
    if unit.is_sentence or candidate.own:
        return [candidate]
    block = [
        each
        for each in candidates
        if (each.source, each.unit.block) == (candidate.source, unit.block)
        and not each.unit.is_title
    ]
    return [candidate] if any(each.own for each in block) else block
