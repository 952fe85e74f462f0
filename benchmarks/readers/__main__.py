"""Compares readers of documents: `python -m benchmarks.readers FOLDER...`.

Prints, for each reader and format, how many files lose no word against pandoc (poppler for PDF),
how many lose at most 1 % of the letters, the share of words lost, numbers that the judge does not
have, CPU and memory. Readers that are not installed are left out. `--facts FILE` checks what files
must say, `--draw COUNT` prints passages.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heddle_knowledge.chunking.chunks import chunk
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading.documents import parse

from benchmarks.readers.reading import READERS
from benchmarks.readers.scoring import false_numbers, keeps, lost_words, words

PROGRAMS = {"pandoc": "pandoc", "poppler": "pdftotext"}
PANDOC = frozenset({".docx", ".epub", ".htm", ".html", ".ipynb", ".odt", ".pptx", ".rtf", ".xlsx"})
_NEAR = 0.01
Reading = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """A file that a judge has read."""

    path: Path
    text: str


def main() -> None:
    """Compare the readers, check facts or draw passages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--reader", action="append", choices=READERS, help="by default: all")
    parser.add_argument(
        "--facts", type=Path, help='JSON: {"FILE": {"says": ["…"], "lacks": ["…"]}}'
    )
    parser.add_argument("--draw", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=0, help="print so many files of each reader")
    options = parser.parse_args()
    files = sorted(
        path for folder in options.folders for path in folder.rglob("*") if path.is_file()
    )
    names = [name for name in options.reader or READERS if _is_installed(name)]
    if options.draw:
        draw(files, options.draw, options.seed)
    elif options.facts:
        wrong = sum(check(json.loads(options.facts.read_text()), files, name) for name in names)
        sys.exit(bool(wrong))
    else:
        compare(files, names, options.worst)


def _is_installed(name: str) -> bool:
    if name in PROGRAMS:
        return shutil.which(PROGRAMS[name]) is not None
    return name == "heddle" or find_spec(name) is not None


def _read(name: str, files: list[Path]) -> list[Reading]:
    """Read files in a process of the reader."""
    done = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-m", "benchmarks.readers.reading", name],
        input="".join(f"{path}\n" for path in files),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    readings = [json.loads(line) for line in done.stdout.splitlines()]
    died = {"text": "", "refusal": "the reader died", "cpu": 0.0, "mib": 0.0}
    return readings + [died] * (len(files) - len(readings))


def compare(files: list[Path], names: list[str], worst: int) -> None:
    """Print a line for each reader and format."""
    groups: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        groups[path.suffix.lower()].append(path)
    print(
        "format  reader      files refused  no loss  in 1%  words lost  false numbers  ms/file  MiB"
    )
    for ending, paths in sorted(groups.items()):
        judge = "poppler" if ending == ".pdf" else "pandoc"
        if judge not in names or (judge == "pandoc" and ending not in PANDOC):
            continue
        readings = _read(judge, paths)
        judged = [
            Judged(path, reading["text"])
            for path, reading in zip(paths, readings, strict=True)
            if words(reading["text"])
        ]
        for name in names:
            if judged and name not in PROGRAMS:
                _print_line(ending, name, judged, worst)


def _print_line(ending: str, name: str, judged: list[Judged], worst: int) -> None:
    readings = _read(name, [it.path for it in judged])
    pairs = list(zip(judged, readings, strict=True))
    lost = {it.path: lost_words(reading["text"], it.text) for it, reading in pairs}
    false = sum(false_numbers(reading["text"], it.text) for it, reading in pairs)
    near = sum(keeps(reading["text"], it.text, _NEAR) for it, reading in pairs)
    whole = sum(words(it.text).total() for it in judged)
    print(
        f"{ending:7} {name:10} {len(judged):6} {sum(bool(it['refusal']) for it in readings):7} "
        f"{sum(not count for count in lost.values()):8} {near:6} "
        f"{sum(lost.values()) / whole:11.2%} {false:14} "
        f"{1000 * readings[-1]['cpu'] / len(judged):9.1f} {readings[-1]['mib']:4.0f}"
    )
    for path in sorted(lost, key=lambda path: -lost[path])[:worst]:
        print(f"        {lost[path]:6} words of {path}")


def check(facts: dict[str, dict[str, list[str]]], files: list[Path], name: str) -> int:
    """Print the facts that a reader gets wrong; return how many."""
    known = [path for path in files if path.name in facts]
    wrong = 0
    for path, reading in zip(known, _read(name, known), strict=True):
        fact, text = facts[path.name], " ".join(reading["text"].split())
        faults = [f"lacks {it!r}" for it in fact.get("says", []) if it not in text]
        faults += [f"says {it!r}" for it in fact.get("lacks", []) if it in text]
        wrong += len(faults)
        for fault in faults:
            print(f"{name}: {path.name} {fault} {reading['refusal']}".rstrip())
    print(f"{name}: {len(known)} files, {wrong} wrong facts")
    return wrong


def draw(files: list[Path], count: int, seed: int) -> None:
    """Print passages at random, to be judged by a reader: would one cite them?"""
    passages = []
    for path in files:
        try:
            document = parse(path.read_bytes(), media_type="", name=path.name)
        except UnreadableDocumentError as refusal:
            print(refusal, file=sys.stderr)
            continue
        passages += [(path.name, each) for each in chunk(document)]
    for name, each in random.Random(seed).sample(passages, min(count, len(passages))):  # noqa: S311
        place = f", page {each.page}" if each.page else ""
        print(f"--- {name}{place}: {' > '.join(each.heading)}\n{each.text}\n")


if __name__ == "__main__":
    main()
