"""The pages of the examples: each is listed, and shows a file that exists."""

import re
from pathlib import Path

from examples.example_heddle import ROOT

PAGES = ROOT / "docs/examples"
ROW = re.compile(r"^\| \[([^]]+)\]\(([\w-]+\.md)\) \| [^|]+ \|$", re.MULTILINE)
FILE = re.compile(r"^<!-- file: (\S+) -->$", re.MULTILINE)


def test_the_list_has_every_page_sorted_by_name() -> None:
    sections = (PAGES / "index.md").read_text().split("\n## ")[1:]
    tables = [ROW.findall(section) for section in sections]

    assert {page for table in tables for _, page in table} == {
        page.name for page in PAGES.glob("*.md") if page.name != "index.md"
    }
    for table in tables:
        assert table == sorted(table, key=lambda row: row[0].casefold())


def test_each_page_shows_the_file_of_its_example() -> None:
    pages = [page for page in PAGES.glob("*.md") if page.name != "index.md"]
    shown = {page: FILE.findall(page.read_text()) for page in pages}

    for page, files in shown.items():
        assert files, page
        assert Path(files[0]).stem.replace("_", "-") == page.stem
        assert [name for name in files if not (ROOT / name).is_file()] == []
