"""One word for each tool, and how likely a model is to say it."""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from heddle_orchestrator.agent.decision import Candidate
from heddle_orchestrator.agent.words import listed

_VAGUE = listed(
    """
    get list find search run do make send create read write tool query data call use fetch look
    up lookup ask check show convert play fast new my the of to in for and by
    """
)
_FLOOR = 1e-6
_SHARED = 3


def labels_of(tools: Sequence[Candidate]) -> dict[str, str]:
    """Return a word for each tool's name that no other tool's word begins like.

    It is taken out of the name: what is peculiar to it there says most to a model.
    """
    words = {tool.name: tool.name.lower().replace("-", "_").split("_") for tool in tools}
    labels: dict[str, str] = {}
    for name, own in words.items():
        others = {word for other, theirs in words.items() if other != name for word in theirs}
        telling = [word for word in own if word and word not in others]
        wanted = [*(word for word in telling if word not in _VAGUE), *telling, "".join(own)]
        taken = {label[:_SHARED] for label in labels.values()}
        labels[name] = next(
            (word for word in wanted if word[:_SHARED] not in taken), f"{_letter(len(labels))}"
        )
    return labels


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
