"""Fills a prompt template in one pass, in Heddle's own syntax or in the literal one.

Only the template is searched for names. Inserted text (the user's words, the output of a tool) is
copied unchanged, so it cannot refer to another slot or lose its own braces.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from heddle.assistant.v1 import assistant_pb2

USER_INPUT = "user_input"
CONTEXT = "context"
_BLANK_LINES = "\n\n"
# A name has a letter: `{0}` and `{1,2}` belong to format strings and regular expressions.
_NAME = r"(?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{1,63}"
_BRACED = re.compile(rf"\{{({_NAME})\}}")
_HEDDLE = re.compile(rf"\{{(?P<escaped>\{{{_NAME}\}})\}}|\{{(?P<name>{_NAME})\}}")


@dataclass(frozen=True, slots=True)
class Template:
    """A template in one of the two syntaxes.

    In Heddle's, each `{name}` is a slot, `{{name}}` is the text `{name}`, and an empty slot is
    removed. In the literal one, only `names` are slots and everything else is text; an empty slot
    leaves its blank lines.
    """

    text: str
    names: frozenset[str] | None = None
    """The slots of the literal syntax. None selects Heddle's."""
    inline: frozenset[str] = frozenset()
    """Slots of the literal syntax that have no blank lines around them."""

    @property
    def is_literal(self) -> bool:
        """Whether the template has the literal syntax instead of Heddle's."""
        return self.names is not None

    def render(self, slots: Mapping[str, str]) -> str:
        """Return the template with its slots replaced.

        A slot is replaced by its text between two blank lines. Everything else stays unchanged.
        """
        return _pattern(self.names).sub(lambda match: self._replacement(match, slots), self.text)

    def rendered_spans(self, slots: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
        """Yield each slot that has a text, and where the text is in what `render` returns.

        Blank lines around the text are outside.
        """
        moved = 0
        for match in _pattern(self.names).finditer(self.text):
            name = match["name"] or ""
            text = slots.get(name, "")
            start = match.start() + moved + len(self._margin(name))
            if text:
                yield name, start, start + len(text)
            moved += len(self._replacement(match, slots)) - len(match[0])

    def rendered_length(self, slots: Mapping[str, str]) -> int:
        """Return the number of characters that `render` returns, without rendering.

        A template may repeat a slot tens of thousands of times, so the result can be very much
        larger than the template and the texts together.
        """
        literal, counts = _occurrences(self)
        return literal + sum(
            count * len(self._inserted(name, slots.get(name, ""))) for name, count in counts.items()
        )

    def occurrences(self) -> Iterator[tuple[str, int, int]]:
        """Yield each slot that the template contains, and where it is with its braces."""
        for match in _pattern(self.names).finditer(self.text):
            if name := match["name"]:
                yield name, match.start(), match.end()

    def slots(self) -> list[str]:
        """Return the slots that the template contains, in order."""
        return [name for name, _, _ in self.occurrences()]

    def _replacement(self, match: re.Match[str], slots: Mapping[str, str]) -> str:
        if name := match["name"]:
            return self._inserted(name, slots.get(name, ""))
        return match["escaped"]

    def _inserted(self, name: str, text: str) -> str:
        if not text and not self.is_literal:
            return ""
        margin = self._margin(name)
        return f"{margin}{text}{margin}"

    def _margin(self, name: str) -> str:
        return "" if name in self.inline else _BLANK_LINES


_NO_TEMPLATE = Template("")


def template_of(
    assistant: assistant_pb2.Assistant,
    more_slots: Iterable[str] = (),
    inline: frozenset[str] = frozenset(),
    outside: Iterable[str] = (),
) -> Template:
    """Return the template of an assistant.

    Args:
        assistant: The assistant.
        more_slots: Slots of its tools and its prompt processor that its bindings do not name.
        inline: Slots of the prompt processor that have no blank lines around them.
        outside: Slots of tools that are not in literal templates.
    """
    if assistant.template_syntax != assistant_pb2.TEMPLATE_SYNTAX_LAMB:
        text = assistant.prompt_template
        return Template(text) if text else _NO_TEMPLATE
    # A binding without a slot fills the tool's own, which mostly has the name of the tool.
    bound = (each.slot or each.tool for each in assistant.tools)
    names = frozenset(filter(None, (USER_INPUT, CONTEXT, *bound, *more_slots)))
    names -= {*outside}
    return Template(assistant.prompt_template, names, inline)


@lru_cache(maxsize=128)  # every run of an assistant needs them
def slots_of(template: str, syntax: int) -> frozenset[str]:
    """Return the names in a template that may be slots, before the slots of tools are known."""
    if syntax == assistant_pb2.TEMPLATE_SYNTAX_LAMB:
        return frozenset(_BRACED.findall(template)) - {USER_INPUT}
    return frozenset(Template(template).slots()) - {USER_INPUT}


@lru_cache(maxsize=128)  # every run of an assistant needs it
def _pattern(names: frozenset[str] | None) -> re.Pattern[str]:
    if names is None:
        return _HEDDLE
    alternatives = "|".join(map(re.escape, sorted(names)))
    return re.compile(rf"\{{(?P<name>{alternatives})\}}")


@lru_cache(maxsize=128)  # every run of an assistant needs them
def _occurrences(template: Template) -> tuple[int, Counter[str]]:
    """Return the number of characters outside of slots, and how often each slot occurs."""
    matches = [*_pattern(template.names).finditer(template.text)]
    counts = Counter(name for match in matches if (name := match["name"]))
    replaced = sum(len(match[0]) for match in matches)
    escaped = sum(len(match["escaped"]) for match in matches if not match["name"])
    return len(template.text) - replaced + escaped, counts
