"""Real texts in any number: the paragraphs of Debian's package descriptions."""

import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SEED = 20261122
_SHORTEST = 40
_LONGEST = 900
_PARAGRAPH = re.compile(r"\n \.\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class Text:
    """A passage and the package that it describes."""

    package: str
    text: str


def read(folder: Path, count: int, questions: int) -> tuple[list[Text], list[str]]:
    """Return texts, and questions that are none of them: other packages' one-line summaries.

    Beyond the paragraphs that there are (about 150,000), texts are the first sentences of one
    and the last of another, so that all words stay real.
    """
    rng = random.Random(_SEED)  # noqa: S311 - no secret
    entries = list(_entries(folder))
    rng.shuffle(entries)
    asked = [summary for _, summary, _ in entries[:questions]]
    real = [
        Text(package, text) for package, _, paragraphs in entries[questions:] for text in paragraphs
    ]
    texts = real[:count]
    while len(texts) < count:
        one, other = rng.choice(real), rng.choice(real)
        half = _SENTENCE.split(one.text)[0] + " " + _SENTENCE.split(other.text)[-1]
        texts.append(Text(f"{one.package}-{len(texts)}", half[:_LONGEST]))
    return texts, asked


def _entries(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Read every package's name, summary and paragraphs."""
    for path in sorted(_lists(folder)):
        for entry in path.read_text(encoding="utf-8").split("\n\n"):
            name, _, description = entry.partition("\nDescription-en: ")
            summary, _, body = description.partition("\n")
            paragraphs = (" ".join(each.split()) for each in _PARAGRAPH.split(body))
            kept = [each[:_LONGEST] for each in paragraphs if len(each) >= _SHORTEST]
            if kept:
                yield name.partition("\n")[0].removeprefix("Package: "), summary, kept


def _lists(folder: Path) -> list[Path]:
    """Return apt's lists of descriptions; they are fetched once, into a folder of their own."""
    lists = folder / "lists"
    if not list(lists.glob("*Translation-en")):
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        settings = (
            f"Dir::State::lists={lists}",
            f"Dir::Cache={folder}",
            "Acquire::Languages=en",
            "Acquire::GzipIndexes=false",
            "Debug::NoLocking=1",
        )
        command = ["apt-get", "-q", *(f"-o{each}" for each in settings), "update"]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - a fixed command
    return list(lists.glob("*Translation-en"))
