"""Finds identifiers and names of the old vocabulary, which names.toml lists."""

import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from docs.prose.rules import Finding
from docs.prose.texts import ROOT, files

NAMES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("names.toml").read_text())
_WORDS = frozenset(NAMES["identifiers"])
_WORD = re.compile("|".join(_WORDS), re.IGNORECASE)
_HUMP = re.compile(r"([a-z0-9])([A-Z])")
_DEFINITION = re.compile(r"\s*(?:class|(?:async )?def) _*(\w+)")
_SETTING = re.compile(rf"\bHEDDLE_[A-Z_]*?({'|'.join(NAMES['settings'])})\b")


def names() -> Iterator[Finding]:
    """Return the identifiers and old names of all files."""
    for name in files(".py"):
        content = (ROOT / name).read_text()
        yield from identifiers(name, content)
        yield from _modules(name)
        yield from _definitions(name, content)
    for name in files(".py", ".md", ".yml", ".yaml", ".toml", "Makefile", "Dockerfile"):
        if name.startswith("docs/prose/"):
            continue
        for number, line in enumerate((ROOT / name).read_text().splitlines(), start=1):
            for match in _SETTING.finditer(line):
                advice = f"{match[0]}: …{NAMES['settings'][match[1]]}"
                yield Finding("old setting", name, number, advice)


def identifiers(name: str, content: str) -> Iterator[Finding]:
    """Return the names in `content` that contain a forbidden word."""
    if not _WORD.search(content):  # most files: to read tokens is slow
        return
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.NAME:
            words = _HUMP.sub(r"\1_\2", token.string).lower()
            if _WORDS & set(re.sub("not_?found|connection_made", "", words).split("_")):
                advice = f"{token.string}: name it after what it holds"
                yield Finding("identifier", name, token.start[0], advice)


def _modules(name: str) -> Iterator[Finding]:
    parts = PurePosixPath(name).with_suffix("").parts
    for folder, terms in NAMES["modules"].items():
        if not name.startswith((f"{folder}/", f"tests/{_tests(folder)}/")):
            continue
        for part in parts[1:]:
            old = part.removeprefix("test_")
            if old in terms:
                yield Finding("old module", name, 1, f"{part}: {terms[old]}")


def _tests(folder: str) -> str:
    """Return the folder of the tests of a member."""
    return folder.rpartition("/")[2].replace("-service", "").replace("tools", "tools_service")


def _definitions(name: str, content: str) -> Iterator[Finding]:
    for number, line in enumerate(content.splitlines(), start=1):
        defined = _DEFINITION.match(line)
        if defined and (term := NAMES["definitions"].get(defined[1])):
            yield Finding("old name", name, number, f"{defined[1]}: {term}")
