"""Real text with names in it: what apt knows of packages."""

import random
import subprocess
from collections.abc import Iterator, Mapping

from heddle_knowledge.formats.blocks import Block, ParsedDocument

_TOGETHER = 50
"""Packages in a document."""


def documents(packages: int) -> list[ParsedDocument]:
    """Return descriptions of packages of a random choice that is always the same.

    Raises:
        RuntimeError: apt knows none; `apt-get update` mends that.
    """
    command = ["apt-cache", "dumpavail"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - the line above
    known = [fields for fields in map(_fields, told.split("\n\n")) if "Description" in fields]
    if not known:
        raise RuntimeError("apt knows no packages. Run apt-get update.")
    chosen = random.Random(1).sample(known, min(packages, len(known)))  # noqa: S311 - no secret
    return list(_documents([_block(fields) for fields in chosen]))


def _documents(blocks: list[Block]) -> Iterator[ParsedDocument]:
    for start in range(0, len(blocks), _TOGETHER):
        together = tuple(blocks[start : start + _TOGETHER])
        yield ParsedDocument(f"Packages from {start}", together)


def _fields(paragraph: str) -> Mapping[str, str]:
    lines = (line.partition(": ") for line in paragraph.splitlines() if line[:1].isalpha())
    return {name: value for name, _, value in lines}


def _block(fields: Mapping[str, str]) -> Block:
    maintainer = fields.get("Maintainer", "nobody").partition(" <")[0]
    source = fields.get("Source", fields["Package"])
    text = (
        f"The package {fields['Package']} of the section {fields.get('Section', 'none')} is "
        f"{fields['Description']}. It is maintained by {maintainer}, and made of the source "
        f"{source}. Its home is {fields.get('Homepage', 'Debian')}."
    )
    return Block(text, (fields["Package"],))
