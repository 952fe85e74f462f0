"""Graphs of names, which are in files beside the collections."""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.graph.parts import add_part
from heddle_knowledge.graph.records import Name, Part
from heddle_knowledge.sqlite_files import remove, snapshot

Row = Mapping[str, Any]
_ENDING = ".sqlite"
_PARTS = "SELECT id, document, sha256, english FROM part ORDER BY document, sha256"
_PASSAGES = "SELECT ordinal, text, page, heading FROM passage WHERE part = ? ORDER BY ordinal"
_MENTIONS = "SELECT ordinal, key, surface FROM mention WHERE part = ? ORDER BY ordinal, key"


async def rows(folder: Path) -> AsyncIterator[dict[str, Any]]:
    """Yield what was found in each version of each document; a graph is as of one moment."""
    for path in sorted(folder.glob(f"*{_ENDING}")):
        with snapshot(path, "mention") as database:
            if database is None:
                continue
            for part, document, sha256, english in database.execute(_PARTS):
                yield {
                    "collection": path.stem,
                    "document": document,
                    "sha256": sha256,
                    "english": bool(english),
                    "passages": database.execute(_PASSAGES, (part,)).fetchall(),
                    "mentions": database.execute(_MENTIONS, (part,)).fetchall(),
                }


async def add(folder: Path, found: AsyncIterable[Row]) -> None:
    """Add graphs as `rows` yields them."""
    async for row in found:
        chunks = [
            Chunk(text, (heading,) if heading else (), page, ordinal, "", 0, 0)
            for ordinal, text, page, heading in row["passages"]
        ]
        names: dict[int, list[Name]] = {chunk.ordinal: [] for chunk in chunks}
        for ordinal, key, surface in row["mentions"]:
            names[ordinal].append(Name(key, surface))
        # An English document without any name has an entry all the same.
        listed = list(names.values()) or ([[]] if row["english"] else [])
        path = folder / f"{row['collection']}{_ENDING}"
        add_part(path, Part(row["document"], row["sha256"]), chunks, listed)


def clear(folder: Path) -> None:
    """Remove all graphs."""
    for path in folder.glob(f"*{_ENDING}"):
        remove(path)
