"""Writes the OpenAPI document of the gateway, of which the studio's types are generated."""

import sys
from pathlib import Path

import msgspec
from heddle_gateway.app.operations import document
from heddle_gateway.extensions import installed


def main(path: Path) -> None:
    """Write the document; a file that has it already stays unchanged but for its time."""
    text = msgspec.json.format(msgspec.json.encode(document(installed())))
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
