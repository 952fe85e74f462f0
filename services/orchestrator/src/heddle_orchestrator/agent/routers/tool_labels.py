"""One-word labels of tools, and their log-probabilities."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from heddle_orchestrator.agent.decision import Candidate
from heddle_orchestrator.agent.word_matching import content_words, word_set, words

_VAGUE_WORDS = word_set(
    """
    get list find search run do make send create read write tool query data call use fetch look
    up lookup ask check show convert play fast new my the of to in for and by
    """
)
_MIN_PROBABILITY = 1e-6
_PREFIX_CHARS = 3
"""No two labels begin with the same three letters: their first tokens differ."""
_STEM_CHARS = 5


def labels_of(tools: Sequence[Candidate]) -> dict[str, str]:
    """Return a label for each tool's name. No two labels begin alike.

    Preferred are words of the tool's name that its description or examples contain, then words of
    its description, those first that occur in its examples. Other words of the name come last:
    a name that the examples do not explain means nothing to a model.
    """
    labels: dict[str, str] = {}
    for tool in tools:
        others = [each for each in tools if each is not tool]
        taken = {label[:_PREFIX_CHARS] for label in labels.values()}
        labels[tool.name] = next(
            (word for word in _label_words(tool, others) if word[:_PREFIX_CHARS] not in taken),
            chr(ord("a") + len(labels) % 26),
        )
    return labels


def _label_words(tool: Candidate, others: Sequence[Candidate]) -> list[str]:
    """Return words that could be the label of a tool, the best first."""
    elsewhere = {word for each in others for word in (*_name_words(each), *_described(each))}
    requests = [_stems(words(request)) for request, _ in tool.examples]
    described = [word for word in _described(tool) if word not in elsewhere]
    uses = {word: sum(_stem(word) in stems for stems in requests) for word in described}
    known = _stems(
        [*_described(tool), *(word for request, _ in tool.examples for word in words(request))]
    )
    named = [word for word in _name_words(tool) if word not in elsewhere]
    if not tool.examples:
        return [*named, *described, *_name_words(tool)]
    return [
        *(word for word in named if _stem(word) in known),
        *sorted((word for word in described if uses[word]), key=lambda word: -uses[word]),
        *described,
        *named,
        *_name_words(tool),
    ]


def _name_words(tool: Candidate) -> list[str]:
    return [word for word in words(tool.name.replace("_", " ")) if word not in _VAGUE_WORDS]


def _described(tool: Candidate) -> list[str]:
    # The first word is a verb that many tools share: finds, searches, sends.
    _, _, text = tool.description.strip().partition(" ")
    return [word for word in content_words(text) if word.isalpha() and word not in _VAGUE_WORDS]


def _stems(texts: Iterable[str]) -> set[str]:
    return {_stem(word) for word in texts}


def _stem(word: str) -> str:
    return word.removesuffix("s")[:_STEM_CHARS]


@dataclass(frozen=True, slots=True)
class Distractor:
    """A tool that does not exist.

    A small model tells the real tools apart better among distractors. It also prefers the label
    that it read last, which is a distractor's then.
    """

    label: str
    description: str
    request: str


_DISTRACTORS = (
    Distractor("clock", "Tells the time.", "What time is it in Tokyo?"),
    Distractor("calculator", "Computes numbers.", "What is 12 times 9?"),
    Distractor("mail", "Sends a message to somebody.", "Write to Eva that I am late"),
)


def distractors(tools: Sequence[Candidate], labels: Mapping[str, str]) -> list[Distractor]:
    """Return the distractors that resemble none of the tools.

    None if every tool has examples: distractors do not help then.
    """
    if all(tool.examples for tool in tools):
        return []
    taken = {label[:_PREFIX_CHARS] for label in labels.values()}
    known = _stems(
        word
        for tool in tools
        for text in (tool.description, tool.name.replace("_", " "), *(r for r, _ in tool.examples))
        for word in content_words(text)
    )
    return [
        each
        for each in _DISTRACTORS
        if each.label[:_PREFIX_CHARS] not in taken
        and not _stems(content_words(f"{each.label} {each.description}")) & known
    ]


def demonstrations(tools: Sequence[Candidate], labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return requests with their labels, one of each tool in turn.

    The description replaces the requests of a tool without examples.
    """
    by_tool = [
        [(request, labels[tool.name]) for request, _ in tool.examples]
        or [(tool.description, labels[tool.name])]
        for tool in tools
    ]
    return [pair for pairs in zip_longest(*by_tool) for pair in pairs if pair is not None]


def label_logprobs(logprobs_json: str, labels: Mapping[str, str]) -> dict[str, float] | None:
    """Return the log-probability of each tool's label as the next token, by the tool's name.

    Args:
        logprobs_json: The provider's log-probabilities of one token, in OpenAI's form.
        labels: The labels by name.

    Returns:
        None if there are no log-probabilities.
    """
    try:
        top = json.loads(logprobs_json)["content"][0]["top_logprobs"]
        tokens = [(str(each["token"]), float(each["logprob"])) for each in top]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    probabilities = dict.fromkeys(labels, 0.0)
    for token, logprob in tokens:
        start = token.strip().lower()
        fits = [name for name, label in labels.items() if start and label.startswith(start)]
        if len(fits) == 1:
            probabilities[fits[0]] += math.exp(min(logprob, 0.0))
    return {name: math.log(max(value, _MIN_PROBABILITY)) for name, value in probabilities.items()}
