"""Judges an answer by its words: facts, sources, citations, and whether it declines."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from heddle_cli.evaluation.questions import Question

Supports = Callable[[str, str], bool]
"""Returns whether a passage, the second text, supports a sentence, the first."""
_MIN_SHARE = 0.5  # of a sentence's words, in a passage that supports it
_CITED = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W_a-z])|\n+")
_STEM = re.compile(r"\b[^\W_]{4,6}")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_DECLINES = re.compile(
    r"\b(?:(?:can|could|do|does|did|is|are)(?:n.t| not)|cannot|no|nothing|unable)\b.{0,60}"
    r"\b(?:answer|know|find|found|inform\w*|mention\w*|contain|provide|document|passage|context)"
    r"|\bno (?:he encontrado|puedo|sé|se menciona|hay información)|\bno (?:he trobat|puc|ho sé)"
    r"|ezin dut|ez dut|\b(?:nichts gefunden|nicht beantworten|weiß (?:ich )?nicht)"
    r"|ne peux (?:donc )?pas|n'ai rien trouvé",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of an assistant, what it took, and its sources."""

    text: str
    names: Sequence[str]
    passages: Sequence[str]
    """In the order of the numbers by which an answer cites them."""
    tokens: int
    dollars: float | None
    """None if the model has no price."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is wrong with an answer, and how many citations it has."""

    faults: Sequence[str]
    citations: int = 0
    unsupported: int = 0
    declined: bool = False


def judge(question: Question, answer: Answer, supports: Supports) -> Judgement:
    """Judge an answer."""
    declined = not answer.text.strip() or (
        _DECLINES.search(answer.text) is not None
        and not any(states(answer.text, each) for fact in question.facts for each in fact)
    )
    if not question.is_answerable:
        return Judgement([] if declined else ["is not declined"], declined=declined)
    faults = ["declines"] if declined else []
    names = "\n".join(answer.names).casefold()
    missing = [it for it in question.facts if not any(states(answer.text, each) for each in it)]
    faults += [f"does not state {' or '.join(map(repr, each))}" for each in missing]
    faults += [f"does not use {it!r}" for it in question.sources if it.casefold() not in names]
    cited = list(_citations(answer))
    unsupported = [sentence for sentence, passage in cited if not supports(sentence, passage)]
    faults += [f"cites a passage that does not support {each!r}" for each in unsupported]
    return Judgement(faults, len(cited), len(unsupported), declined)


def states(answer: str, fact: str) -> bool:
    """Return whether an answer states a fact, in any case and without its emphasis."""
    pattern = rf"(?<![\w.]){re.escape(_normal(fact))}(?!\w)(?!\.\d)"
    return re.search(pattern, _normal(answer)) is not None


def shares_words(sentence: str, passage: str) -> bool:
    """Return whether a passage has the numbers and half of the longer words of a sentence."""
    if set(_NUMBER.findall(sentence)) - set(_NUMBER.findall(passage)):
        return False
    needed = set(_STEM.findall(sentence.casefold()))
    present = set(_STEM.findall(passage.casefold()))
    return len(needed & present) >= _MIN_SHARE * len(needed)


def _citations(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield each sentence with a passage that it cites; a passage that is not there is empty."""
    for sentence in _SENTENCE.split(answer.text):
        bare = _CITED.sub("", sentence).strip(" -*>#")
        for numbers in _CITED.findall(sentence) if bare else ():
            for number in map(int, numbers.split(",")):
                there = 0 < number <= len(answer.passages)
                yield bare, answer.passages[number - 1] if there else ""


def _normal(text: str) -> str:
    return " ".join(re.sub(r"[*`]", "", text).casefold().split())
