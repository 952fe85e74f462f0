"""One word for each tool, and how likely a model is to say it."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from heddle_orchestrator.agent.decision import Candidate
from heddle_orchestrator.agent.words import listed, telling, words

_VAGUE = listed(
    """
    get list find search run do make send create read write tool query data call use fetch look
    up lookup ask check show convert play fast new my the of to in for and by
    """
)
_FLOOR = 1e-6
_SHARED = 3
_STEM = 5


def labels_of(tools: Sequence[Candidate]) -> dict[str, str]:
    """Return a word for each tool's name that no other tool's word begins like.

    The best is a word of its name that its description or its examples use too: then it is one
    that people say. Next are words of its description, those first that its examples use; a name
    that its examples do not explain, such as that of a search's engine, says nothing to a model.
    """
    labels: dict[str, str] = {}
    for tool in tools:
        others = [each for each in tools if each is not tool]
        taken = {label[:_SHARED] for label in labels.values()}
        wanted = _wanted(tool, others)
        labels[tool.name] = next(
            (word for word in wanted if word[:_SHARED] not in taken), _letter(len(labels))
        )
    return labels


def _wanted(tool: Candidate, others: Sequence[Candidate]) -> list[str]:
    """Return words that could stand for a tool, the best first."""
    elsewhere = {word for each in others for word in (*_named(each), *_described(each))}
    shown = [_stems(words(request)) for request, _ in tool.examples]
    described = [word for word in _described(tool) if word not in elsewhere]
    uses = {word: sum(_stem(word) in said for said in shown) for word in described}
    known = _stems(
        [*_described(tool), *(word for request, _ in tool.examples for word in words(request))]
    )
    named = [word for word in _named(tool) if word not in elsewhere]
    if not tool.examples:
        return [*named, *described, *_named(tool)]
    return [
        *(word for word in named if _stem(word) in known),
        *sorted((word for word in described if uses[word]), key=lambda word: -uses[word]),
        *described,
        *named,
        *_named(tool),
    ]


def _named(tool: Candidate) -> list[str]:
    return [word for word in words(tool.name.replace("_", " ")) if word not in _VAGUE]


def _described(tool: Candidate) -> list[str]:
    # Without the first word, which is what tools have in common: finds, tells, searches.
    _, _, text = tool.description.strip().partition(" ")
    return [word for word in telling(text) if word.isalpha() and word not in _VAGUE]


def _stems(found: Iterable[str]) -> set[str]:
    return {_stem(word) for word in found}


def _stem(word: str) -> str:
    return word.removesuffix("s")[:_STEM]


@dataclass(frozen=True, slots=True)
class Stranger:
    """A tool that is not there. Measured: among such, a small model tells the others apart better.

    What a model read last it says most readily, and that is a stranger's word then.
    """

    label: str
    description: str
    request: str


_STRANGERS = (
    Stranger("clock", "Tells the time.", "What time is it in Tokyo?"),
    Stranger("calculator", "Computes numbers.", "What is 12 times 9?"),
    Stranger("mail", "Sends a message to somebody.", "Write to Eva that I am late"),
)


def strangers(tools: Sequence[Candidate], labels: Mapping[str, str]) -> list[Stranger]:
    """Return tools that are not there and unlike all of those that are.

    None where every tool has examples: then they would only be in the way.
    """
    if all(tool.examples for tool in tools):
        return []
    taken = {label[:_SHARED] for label in labels.values()}
    said = _stems(
        word
        for tool in tools
        for text in (tool.description, tool.name.replace("_", " "), *(r for r, _ in tool.examples))
        for word in telling(text)
    )
    return [
        each
        for each in _STRANGERS
        if each.label[:_SHARED] not in taken
        and not _stems(telling(f"{each.label} {each.description}")) & said
    ]


def demonstrations(tools: Sequence[Candidate], labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return requests with their words, tools in turn; one without any shows what it does."""
    each = [
        [(request, labels[tool.name]) for request, _ in tool.examples]
        or [(tool.description, labels[tool.name])]
        for tool in tools
    ]
    return [shown for turn in zip_longest(*each) for shown in turn if shown is not None]


def scores(logprobs_json: str, labels: Mapping[str, str]) -> dict[str, float] | None:
    """Return for each tool's name the log-probability that its word comes next.

    Args:
        logprobs_json: What the provider tells of one token, in OpenAI's form.
        labels: The words by name.

    Returns:
        None if the provider tells nothing.
    """
    try:
        told = json.loads(logprobs_json)["content"][0]["top_logprobs"]
        likely = [(str(each["token"]), float(each["logprob"])) for each in told]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    mass = dict.fromkeys(labels, 0.0)
    for token, logprob in likely:
        start = token.strip().lower()
        fits = [name for name, label in labels.items() if start and label.startswith(start)]
        if len(fits) == 1:
            mass[fits[0]] += math.exp(min(logprob, 0.0))
    return {name: math.log(max(value, _FLOOR)) for name, value in mass.items()}


def _letter(number: int) -> str:
    return chr(ord("a") + number % 26)
