"""Builds the documentation site: `python -m docs.reference.build [--serve] [--pages-only]`.

Copies the pages of `docs` to `.heddle/docs`, writes the generated reference beside them, and starts
the generator of mkdocs.yml there. Needs no network.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from docs.reference import commands, contracts, errors, rest, sdk, settings, tools

ROOT = Path(__file__).parents[2]
PAGES = ROOT / ".heddle" / "docs"
SITE = ROOT / ".heddle" / "site"
SERVED = ROOT / "gateway" / "src" / "heddle_gateway" / "documentation"
"""The copy in the gateway's package, which it serves at `/docs`."""
_GENERATORS = (settings, rest, contracts, errors, sdk, commands, tools)
_FILE = re.compile(r"^<!-- file: (\S+) -->$", re.MULTILINE)
"""Where a page shows a file of the repository."""
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_GENERATOR = {
    "zensical": ["zensical", "build", "--strict"],
    "mkdocs": ["mkdocs", "build", "--strict"],
}


def main() -> None:
    """Write the pages, then build or serve the site."""
    parser = argparse.ArgumentParser("python -m docs.reference.build", description=__doc__)
    parser.add_argument("--serve", action="store_true", help="show the site on 127.0.0.1:8000")
    parser.add_argument("--pages-only", action="store_true", help="write the pages, build no site")
    parser.add_argument("--generator", choices=list(_GENERATOR), default="zensical")
    arguments = parser.parse_args()
    write_pages(PAGES)
    if arguments.pages_only:
        return
    program = ["zensical", "serve"] if arguments.serve else _GENERATOR[arguments.generator]
    run(program)
    if not arguments.serve:
        copy_markdown(PAGES, SITE)
        shutil.rmtree(SERVED, ignore_errors=True)
        shutil.copytree(SITE, SERVED)
        (SERVED / "index.html").touch()


def run(program: list[str]) -> None:
    """Start the generator on mkdocs.yml."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(program, cwd=ROOT, env=variables, check=False)  # noqa: S603 - fixed
    if ran.returncode:
        sys.exit(ran.returncode)


def write_pages(folder: Path) -> None:
    """Write all pages of the site to `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for page in sorted((ROOT / "docs").rglob("*.md")):
        _write(folder, page.relative_to(ROOT / "docs"), page.read_text(), page.parent)
    shutil.copytree(ROOT / "docs" / "images", folder / "images")
    shutil.copyfile(ROOT / "docs" / "site.css", folder / "site.css")
    _write(folder, Path("changes.md"), (ROOT / "CHANGELOG.md").read_text(), ROOT)
    for generator in _GENERATORS:
        for name, text in generator.pages().items():
            _write(folder, Path("reference") / name, text, None)
    (folder / "llms.txt").write_text(_index_for_machines(folder))


def copy_markdown(pages: Path, site: Path) -> None:
    """Put the Markdown of each page beside its HTML."""
    for page in pages.rglob("*.md"):
        target = site / page.relative_to(pages)
        if page.name == "README.md":  # the generators write index.html for it
            target = target.with_name("index.md")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, target)


def _index_for_machines(pages: Path) -> str:
    lines = ["# Heddle", "", "> Answers OpenAI-style requests as assistants with many tools.", ""]
    for page in sorted(pages.rglob("*.md")):
        name = page.relative_to(pages)
        name = name.with_name("index.md") if name.name == "README.md" else name
        title = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
        lines.append(f"- [{title[1] if title else name.stem}]({name.as_posix()})")
    return "\n".join(lines) + "\n"


def listed(navigation: list[object] | None = None) -> set[str]:
    """Return the pages in the navigation of mkdocs.yml."""
    if navigation is None:
        navigation = yaml.load((ROOT / "mkdocs.yml").read_text(), yaml.BaseLoader)["nav"]  # noqa: S506
    pages: set[str] = set()
    for entry in navigation or []:
        values = entry.values() if isinstance(entry, dict) else [entry]
        for value in values:
            pages |= listed(value) if isinstance(value, list) else {str(value)}
    return pages


def _write(folder: Path, name: Path, text: str, origin: Path | None) -> None:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if origin is not None:
        text = _FILE.sub(_shown, _LINK.sub(lambda link: _inside(link, origin), text))
    target.write_text(text)


def _shown(comment: re.Match[str]) -> str:
    """Return the file that a comment names as a block: pages contain no copies of examples."""
    path = ROOT / comment[1]
    language = {".py": "python"}.get(path.suffix, path.suffix[1:])
    return f'```{language} title="{comment[1]}"\n{path.read_text()}```'


def _inside(link: re.Match[str], origin: Path) -> str:
    """Return a link that leaves the pages as text: a reader of the site has no repository."""
    title, path, _ = link.groups()
    target = (origin / path).resolve()
    if (
        not path
        or "://" in path
        or (target.is_relative_to(ROOT / "docs") and target.suffix == ".md")
    ):
        return link[0] if origin != ROOT else link[0].replace("](docs/", "](")
    shown = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else path
    return f"{title} (`{shown}`)" if title.strip("`") != shown else f"`{shown}`"


if __name__ == "__main__":
    main()
