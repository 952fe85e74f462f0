"""Six documents that others wrote. They are fetched from their repositories, not stored here."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Document:
    """A document, and where it comes from."""

    name: str
    kind: str
    repository: str
    """On GitHub."""
    commit: str
    path: str
    licence: str


DOCUMENTS = (
    Document(
        "syllabus.pdf",
        "course syllabus, PDF",
        "diesburg/cs1510_sp25",
        "13ae7bf6f6ff32d639173c5797352779d550b30d",
        "syllabus.pdf",
        "none stated",
    ),
    Document(
        "manual.pdf",
        "construction manual with lists of parts, PDF",
        "AE9RB/iambino",
        "5d9ed6202ed173772d2eb6dde07a77b553049a38",
        "manual.pdf",
        "GPL-3.0",
    ),
    Document(
        "course.docx",
        "course handout, Word",
        "AaronParsons/astro161",
        "47986fd1999883d0f6d71ad376d024f0296c6c03",
        "syllabus.docx",
        "none stated",
    ),
    Document(
        "git-gc.html",
        "manual page, HTML",
        "gitster/git-htmldocs",
        "1702bf03119068e8f1458bc1136dae1475d20ea6",
        "git-gc.html",
        "GPL-2.0",
    ),
    Document(
        "README.md",
        "README with tables, Markdown",
        "BurntSushi/ripgrep",
        "3fce3b5bb0236da2df6d99672afb8a719642eca7",
        "README.md",
        "MIT or Unlicense",
    ),
    Document(
        "pricelist.csv",
        "price list, CSV",
        "GorioB/circuithub",
        "bb799b746ecfe89e649a49aa5c36aa797a81fb79",
        "pricelist.csv",
        "none stated",
    ),
)


def fetched(folder: Path) -> list[Path]:
    """Return the documents in a folder, fetched with git if they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_fetched(folder, each) for each in DOCUMENTS]


def _fetched(folder: Path, document: Document) -> Path:
    target = folder / document.name
    if not target.is_file():
        clone = folder / f"{document.name}.git"
        address = f"https://github.com/{document.repository}"
        _git(clone, "init", "--quiet", "--bare", str(clone))
        _git(clone, "fetch", "--quiet", "--depth", "1", address, document.commit)
        target.write_bytes(_git(clone, "show", f"{document.commit}:{document.path}"))
    return target


def _git(clone: Path, *words: str) -> bytes:
    command = ("git", f"--git-dir={clone}", *words)
    done = subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed words
    return done.stdout
