"""Compares two prompts, LAMB's and Heddle's, and explains their differences. Pure functions."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import combinations
from typing import Any

_SOURCES = re.compile(r"\n\n## Available Sources\n\n(?:\d+\. \[.*\]\(.*\) \(similarity: .*\)\n?)*")
_DOUBLED = re.compile(r"https?://[^\s/()]+(?=https?://)")
_FAILED = re.compile(
    r"\[The tool \S+ failed: [^\n]*? Its result is not available\.\]"
    r"|No RAG collections specified in the assistant configuration"
    r"|RAG_collections is empty or improperly formatted"
    r"|Error in overall RAG process: [^\n]*"
)
"""What Heddle and LAMB write in the place of passages that they do not have."""
_SPACE = re.compile(r"\s+")
_CONTEXT = "{context}"
_DEBUG = "Messages:\n"

SPACE = "The prompts differ in white space only."
HOSTS = "LAMB writes the address of its knowledge-base server twice in links."
SOURCES = "The lists of sources differ: addresses and similarities are those of each server."
PARENTS = "LAMB repeats a section for each of its passages; Heddle shows it once."
FAILED = "Neither has passages: LAMB writes nothing or its error, and Heddle names the tool."
INJECTED = (
    "LAMB replaced {context} in the question of the user. Heddle searches only the template for "
    "slots."
)
NOTES = "Heddle tells the model below the system prompt that a tool failed or has no slot."


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a prompt."""

    role: str
    text: str


Prompt = Sequence[Turn]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between two prompts."""

    equal: bool
    """Byte for byte."""
    explanation: str
    """Why they differ; empty if nothing explains it."""
    difference: str
    """The lines that differ; empty if the prompts are equal."""

    @property
    def flagged(self) -> bool:
        """Whether an operator must look at the difference."""
        return not (self.equal or self.explanation)


def prompt_of(messages: object) -> Prompt:
    """Return the messages of a request in OpenAI's form, with their texts alone."""
    turns = messages if isinstance(messages, list) else []
    return [
        Turn(str(each.get("role", "")), _text(each.get("content")))
        for each in turns
        if isinstance(each, dict)
    ]


def debugged(answer: str) -> Prompt | None:
    """Return the prompt in an answer of LAMB's `debug-bypass`; None if it is no such answer."""
    if not answer.startswith(_DEBUG):
        return None
    try:
        messages, _ = json.JSONDecoder().raw_decode(answer, len(_DEBUG))
    except ValueError:
        return None
    return prompt_of(messages)


def compare(lamb: Prompt, heddle: Prompt, question: str) -> Comparison:
    """Compare the prompts for a question."""
    ours, theirs = _shown(heddle), _shown(lamb)
    if list(lamb) == list(heddle):
        return Comparison(equal=True, explanation="", difference="")
    lines = unified_diff(theirs.splitlines(), ours.splitlines(), "LAMB", "Heddle", lineterm="")
    return Comparison(
        equal=False,
        explanation=_explanation(lamb, heddle, question),
        difference="\n".join(lines),
    )


def _explanation(lamb: Prompt, heddle: Prompt, question: str) -> str:
    """Return what explains the whole difference; empty if something is left."""
    if [each.role for each in lamb] != [each.role for each in heddle]:
        return ""
    explanations: list[str] = []
    for theirs, ours in zip(lamb, heddle, strict=True):
        if theirs == ours:
            continue
        explanation = _of_texts(theirs, ours, question)
        if not explanation:
            return ""
        explanations.append(explanation)
    return " ".join(dict.fromkeys(explanations))


def _of_texts(lamb: Turn, heddle: Turn, question: str) -> str:
    theirs, ours = lamb.text, heddle.text
    for count in range(len(_STEPS) + 1):  # the fewest causes that explain all
        for steps in combinations(_STEPS, count):
            if _reduced(theirs, steps) == _reduced(ours, steps):
                return " ".join(steps) or SPACE
    if lamb.role == "system" and ours.startswith(f"{theirs}\n\n["):
        return NOTES
    if _CONTEXT in question and _is_injected(question, theirs, ours):
        return INJECTED
    return ""


def _is_injected(question: str, theirs: str, ours: str) -> bool:
    """Return whether LAMB's text is Heddle's with the passages also in the question."""
    insertions = ours.count(question) * question.count(_CONTEXT)
    start = theirs.find(question.split(_CONTEXT, 1)[0])
    if not insertions or start < 0:
        return False
    start += question.index(_CONTEXT)
    length = len(_CONTEXT) + (len(theirs) - len(ours)) // insertions
    replaced = question.replace(_CONTEXT, theirs[start : start + max(0, length)])
    return ours.replace(question, replaced) == theirs


def _reduced(text: str, steps: Iterable[str]) -> str:
    """Return a text without what some causes put into it, and with single spaces."""
    for each in steps:
        text = _STEPS[each](text)
    return _SPACE.sub(" ", text).strip()


def _without_repetitions(text: str) -> str:
    return "\n\n".join(dict.fromkeys(each.strip() for each in text.split("\n\n")))


_STEPS: Mapping[str, Callable[[str], str]] = {
    HOSTS: lambda text: _DOUBLED.sub("", text),
    SOURCES: lambda text: _SOURCES.sub("", text),
    PARENTS: _without_repetitions,
    FAILED: lambda text: _FAILED.sub("", text),
}
"""What takes the effect of each cause out of a text; the lists of sources go before paragraphs."""


def _shown(prompt: Prompt) -> str:
    return "\n".join(f"[{each.role}]\n{each.text}" for each in prompt)


def _text(content: Any) -> str:  # noqa: ANN401 - text, parts, or nothing
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "".join(str(part.get("text", "")) for part in parts)
    return "" if content is None else str(content)
