"""The prose check finds what the word list forbids, and nothing in code."""

from collections import Counter

import pytest

from docs.prose import names, texts
from docs.prose.__main__ import above
from docs.prose.rules import check
from docs.prose.texts import Text, area


def broken(content: str, file: str = "README.md") -> list[str]:
    return [finding.rule for finding in check(Text(file, 1, content))]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("The organization is normalized.", "american"),
        ("Simply start it.", "filler"),
        ("See the table above.", "place"),
        ("A placeholder of the template.", "term"),
        ("Whoever asks is answered.", "actor"),
        ("The choice hangs on the model.", "riddle"),
        (" ".join(["word"] * 41), "long sentence"),
    ],
)
def test_a_rule_finds_its_words(content: str, rule: str) -> None:
    assert rule in broken(content)


@pytest.mark.parametrize(
    "content",
    [
        "The organisation is normalised.",
        "Call `simply.just()` with `organization`.",
        "The Authorization header, a licensed program.",
        " ".join(["word"] * 40) + ". " + " ".join(["word"] * 40),
    ],
)
def test_correct_prose_and_code_are_no_findings(content: str) -> None:
    assert broken(content) == []


def test_a_rule_for_documents_is_not_for_code() -> None:
    assert broken("See the function above.", "gateway/src/a.py") == []


def test_markdown_gives_paragraphs_without_code() -> None:
    content = "# Title\n\nOne\ntwo.\n\n```sh\nsimply\n```\n- item\n| a | b |\n"

    pieces = list(texts.markdown("a.md", content))

    assert [piece.content.strip() for piece in pieces] == [
        "# Title",
        "One two.",
        "- item",
        "a",
        "b",
    ]
    assert [piece.line for piece in pieces] == [1, 3, 9, 10, 10]


def test_python_gives_docstrings_and_messages() -> None:
    content = (
        '"""Module.\n\nSecond."""\nx = "not this text here"\n'
        'log.info("one two three", a=1)\nraise ValueError(f"no {x!r} is here")\n'
        'Field(description="what it is for")\n'
    )

    pieces = list(texts.strings("a.py", content))

    assert {piece.content for piece in pieces} == {
        "Module.", "Second.", "one two three", "no  X  is here", "what it is for",
    }  # fmt: skip


def test_identifiers_are_found_as_parts_of_names() -> None:
    lines = ["told_user = asked", "not_found = NotFound()", "foundation = wantedList"]

    flagged = [
        each.advice.partition(":")[0] for each in names.identifiers("a.py", "\n".join(lines))
    ]

    assert flagged == ["told_user", "asked", "wantedList"]


def test_more_findings_than_the_baseline_fail() -> None:
    counts = Counter({"product: filler": 3, "tests: term": 1, "documents: place": 1})

    assert above(counts, {"product: filler": 3, "tests: term": 0}) == {
        "tests: term",
        "documents: place",
    }


def test_files_belong_to_areas() -> None:
    assert area("gateway/src/a.py") == "product"
    assert area("gateway/README.md") == "documents"
    assert area("protos/heddle/a.proto") == "contracts"
    assert area("tests/a.py") == "tests"
