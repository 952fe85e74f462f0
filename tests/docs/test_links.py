"""Links and numbers in documents and comments lead to something."""

import re
from pathlib import Path

from docs.project.pictures import STORED, shown
from docs.prose.texts import files

ROOT = Path(__file__).parents[2]
RECORDS = {int(page.name[:4]): page for page in (ROOT / "docs" / "adr").glob("0*.md")}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
RECORD = re.compile(r"\bADR (\d+)\b|\badr/(\d{4})\b")
MAX_RECORDS = 50
"""More are no longer read: merge one that changes an earlier one into it."""
RESERVED: set[int] = set()
"""Numbers of records that are being written."""
GENERATED = ("docs/index.md", "docs/start/", "docs/guides/", "docs/explanation/")
"""Pages with links to generated ones; the strict build checks these."""


def test_links_of_documents_lead_to_files() -> None:
    broken = [
        f"{name}: {target}"
        for name in files(".md")
        if not name.startswith(GENERATED)
        for target in LINK.findall((ROOT / name).read_text())
        if "://" not in target and not (ROOT / name).parent.joinpath(target).exists()
    ]

    assert broken == []


def test_pages_show_every_picture_of_the_studio() -> None:
    stored = {path.name for path in STORED.glob("*.png")}

    assert len(shown()) >= 6
    assert stored == shown(), "run make screenshots"


def test_numbers_of_decisions_are_those_of_records() -> None:
    unknown = [
        f"{name}: {match[0]}"
        for name in files(".md", ".py", ".toml", ".yml", ".proto")
        if not name.startswith(("docs/adr/", "tests/docs/"))
        for match in RECORD.finditer((ROOT / name).read_text())
        if int(match[1] or match[2]) not in {*RECORDS, *RESERVED}
    ]

    assert unknown == []


def test_records_have_one_page_a_date_and_a_status() -> None:
    assert 40 < len(RECORDS) <= MAX_RECORDS
    for number, page in RECORDS.items():
        title, _, rest = page.read_text().partition("\n")
        assert title.startswith(f"# {number}. "), page
        assert re.match(r"\n20\d\d-\d\d-\d\d · accepted", rest), page
        assert len(rest.split()) < 700, f"{page}: {len(rest.split())} words"


def test_the_map_of_changes_names_paths_that_exist() -> None:
    rows = re.findall(
        r"^\| (?!To change|---).*$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )
    paths = [path for row in rows for path in re.findall(r"`([\w.-]+(?:/[\w.-]+)+)`", row)]

    assert len(rows) >= 20
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []
