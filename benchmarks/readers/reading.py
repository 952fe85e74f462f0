"""The readers that are compared. Each runs in a process of its own, which measures itself.

`python -m benchmarks.readers.reading NAME` takes paths on its standard input, and prints a line of
JSON for each file: its text or why it was refused, and the seconds of CPU and MiB of memory so far.
"""

import importlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heddle_knowledge.formats.blocks import lay_out
from heddle_knowledge.reading.documents import parse

_SECONDS = 60


def _heddle(path: Path) -> str:
    return lay_out(parse(path.read_bytes(), media_type="", name=path.name).blocks).text


def _library(name: str) -> Any:  # noqa: ANN401 - libraries that the project does not install
    return importlib.import_module(name)


def _anydoc(path: Path) -> str:
    return str(_library("anydoc").to_markdown(path))


def _kreuzberg(path: Path) -> str:
    library = _library("kreuzberg")
    config = library.ExtractionConfig(output_format="markdown", use_cache=False)
    return str(library.extract_file_sync(path, config=config).content)


def _mammoth(path: Path) -> str:
    with path.open("rb") as file:
        return str(_library("mammoth").convert_to_html(file).value)


def _markitdown(path: Path) -> str:
    return str(_library("markitdown").MarkItDown().convert(path).text_content)


def _program(*command: str | Path) -> str:
    done = subprocess.run(  # noqa: S603 - fixed programs
        command, capture_output=True, check=True, timeout=_SECONDS
    )
    return done.stdout.decode(errors="replace")


def _pandoc(path: Path) -> str:
    return _program("pandoc", "--wrap=none", "--to=plain", path)


def _poppler(path: Path) -> str:
    return _program("pdftotext", "-q", path, "-")


READERS: dict[str, Callable[[Path], str]] = {
    "heddle": _heddle,
    "anydoc": _anydoc,
    "kreuzberg": _kreuzberg,
    "mammoth": _mammoth,
    "markitdown": _markitdown,
    "pandoc": _pandoc,
    "poppler": _poppler,
}


def main() -> None:
    """Read the files whose paths come in."""
    read = READERS[sys.argv[1]]
    for line in sys.stdin:
        text, refusal = "", ""
        try:
            text = read(Path(line.rstrip("\n")))
        except Exception as error:  # noqa: BLE001 - libraries raise what they like
            refusal = f"{type(error).__name__}: {error}"
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = resource.getrusage(resource.RUSAGE_SELF)
        reading = {
            "text": text,
            "refusal": refusal,
            "cpu": time.process_time() + children.ru_utime + children.ru_stime,
            "mib": max(own.ru_maxrss, children.ru_maxrss) / 1024,
        }
        print(json.dumps(reading), flush=True)


if __name__ == "__main__":
    main()
