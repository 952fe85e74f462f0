"""Finds words, spellings, long sentences and long lines that the word list forbids."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files as resource_files
from pathlib import Path
from typing import Any

from docs.prose.texts import ROOT, Text, area, files, texts, without_code

_SENTENCE_END = re.compile(r"(?<=[.!?:;])[)\"']*\s+")
WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text())


def _american() -> dict[str, str]:
    """Return British words by their American spelling."""
    data = resource_files("codespell_lib") / "data" / "dictionary_en-GB_to_en-US.txt"
    pairs = [line.split("->") for line in data.read_text().splitlines() if "->" in line]
    words = {american.rstrip(","): british for british, american in pairs}
    return {word: words[word] for word in words.keys() - set(WORDS["not_american"])}


_AMERICAN = _american()
_RULES = [(rule, re.compile(rf"\b(?:{rule['pattern']})\b")) for rule in WORDS["rules"]]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One place that breaks a rule."""

    rule: str
    file: str
    line: int
    advice: str

    @property
    def key(self) -> str:
        """The area and rule under which the baseline counts it."""
        return f"{area(self.file)}: {self.rule}"


def prose() -> Iterator[Finding]:
    """Return what breaks the rules of words.toml."""
    for text in texts():
        yield from check(text)
    yield from _long_lines()
    yield from _misspelt()


def check(text: Text) -> Iterator[Finding]:
    """Return the words and sentences of `text` that break a rule."""
    plain = without_code(text.content)
    small = plain.lower()
    for rule, pattern in _RULES:
        if area(text.file) in rule.get("areas", [area(text.file)]):
            for match in pattern.finditer(small):
                advice = f"{match[0]!r}: {rule['advice']}"
                yield Finding(rule["name"], text.file, text.line, advice)
    for word in re.findall(r"\b[a-z]+\b", plain):
        if word in _AMERICAN:
            yield Finding("american", text.file, text.line, f"{word!r}: {_AMERICAN[word]}")
    yield from _long_sentences(text, plain)


def _long_sentences(text: Text, plain: str) -> Iterator[Finding]:
    for sentence in _SENTENCE_END.split(plain):
        words = len(re.findall(r"[^\W\d_]\w*", sentence))
        if words > WORDS["max_sentence_words"]:
            advice = f"a sentence of {words} words begins with {sentence[:40]!r}"
            yield Finding("long sentence", text.file, text.line, advice)


def _long_lines() -> Iterator[Finding]:
    for name in files(".md"):
        for number, line in enumerate((ROOT / name).read_text().splitlines(), start=1):
            if len(line) > WORDS["max_line_characters"]:
                yield Finding("long line", name, number, f"{len(line)} characters")


def _misspelt() -> Iterator[Finding]:
    checked = files(".md", ".py", ".proto", ".toml", ".yaml", ".yml")
    ran = subprocess.run(  # noqa: S603 - fixed arguments
        [
            *(sys.executable, "-m", "codespell_lib", "--skip", "uv.lock"),
            *("--ignore-words-list", ",".join(WORDS["names"]), *checked),
        ],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    for line in ran.stdout.splitlines():
        file, number, advice = line.removeprefix("./").split(":", 2)
        yield Finding("spelling", file, int(number), advice.strip())
