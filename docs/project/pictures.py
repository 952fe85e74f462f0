"""`python -m docs.project.pictures FOLDER` stores the pictures of the pages, as tests took them.

`FOLDER` holds the pictures of all screens (`HEDDLE_SCREENSHOTS` of `tests/studio`). Those that a
page shows are stored in `docs/images/studio`, with 128 colours, which are enough for a screen.
"""

import re
import sys
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parents[1]
STORED = DOCS / "images" / "studio"
_SHOWN = re.compile(r"!\[[^\]]+\]\((?:\.\./)*images/studio/([\w-]+\.png)\)")
_COLOURS = 128


def shown() -> set[str]:
    """Return the names of the pictures that pages show."""
    pages = [path.read_text() for path in DOCS.rglob("*.md")]
    return {name for text in pages for name in _SHOWN.findall(text)}


def main(folder: Path) -> int:
    """Store the pictures; return 1 if one of them was not taken."""
    STORED.mkdir(parents=True, exist_ok=True)
    for path in STORED.glob("*.png"):
        if path.name not in shown():
            path.unlink()
    missing = sorted(name for name in shown() if not (folder / name).exists())
    for name in sorted(shown() - set(missing)):
        with Image.open(folder / name) as picture:
            picture.convert("RGB").quantize(_COLOURS).save(STORED / name, optimize=True)
    for name in missing:
        print(f"{name}: no test takes this picture", file=sys.stderr)  # noqa: T201 - a command
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
