"""The word LAMB in the services beside the optional member: only where the list says why."""

import re
from collections.abc import Iterator
from pathlib import Path

from docs.project.images import ROOT

SERVICES = (
    *("assistants", "cli", "connector", "conversion", "devstack", "knowledge", "orchestrator"),
    "runtime",
)
FOLDERS = (
    *(ROOT / "services" / name / "src" for name in SERVICES),
    *(ROOT / "gateway/src", ROOT / "tools-service/src", ROOT / "protos/heddle"),
)
MEMBER = ROOT / "protos/heddle/migration"
ALLOWED = {
    r"lamb_assistant\\?\.|lamb_v4": "the ids of models that OpenAI clients know",
    r"LAMB:": "as above, the names of models",
    r"lamb\.migration": "the logger that programs of operators read",
    r"TEMPLATE_SYNTAX_LAMB|\"lamb\": pb|(SYNTAX =|\"heddle\",) \"lamb\"": "a public value",
    r"`lamb`|LAMB has accepted": "as above, of the session of a user",
    r"_VOUCHING = {\"lamb\", |methods: LAMB, which": "as above",
    r"LAMB_LIBRARY_(SERVER|TOKEN)": "variables of the environment that deployments have",
    r"LAMB_(UNREACHABLE|BUSY|TIMEOUT|GARBLED|CUT)": "reasons of errors, for the log",
    r"lamb-import\.md": "a page of the documentation",
    r"\besecret\|lamb\||lamb_\|csk": "beginnings of keys that are redacted",
    r"LAMB's library server: set": "a note of each conversion, which stays byte for byte",
}
_ALLOWED = re.compile("|".join(ALLOWED))
_WORD = re.compile("lamb(?!da)", re.IGNORECASE)


def lines() -> Iterator[tuple[Path, str]]:
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".py", ".proto", ".toml"} and not path.is_relative_to(MEMBER):
                yield from ((path, line) for line in path.read_text().splitlines())


def test_services_know_nothing_of_lamb_but_what_the_list_allows() -> None:
    unexpected = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path, line in lines()
        if _WORD.search(_ALLOWED.sub("", line))
    ]

    assert unexpected == []


def test_each_entry_of_the_list_occurs() -> None:
    text = "\n".join(line for _, line in lines())

    assert [pattern for pattern in ALLOWED if not re.search(pattern, text)] == []
