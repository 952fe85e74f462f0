"""Notebooks of Jupyter: their text, their code and what it printed."""

import json
from collections.abc import Iterator
from typing import Any

from heddle_knowledge.formats.blocks import ParsedDocument
from heddle_knowledge.formats.markdown import read_markdown


def read_notebook(text: str) -> ParsedDocument:
    """Read a notebook as the Markdown that shows it.

    Raises:
        ValueError: It is no notebook.
    """
    notebook = json.loads(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no cells")  # noqa: TRY004 - the caller expects this
    return read_markdown("\n\n".join(part for cell in cells for part in _parts(cell)))


def _parts(cell: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if not isinstance(cell, dict):
        return
    source = _joined(cell.get("source"))
    yield f"```\n{source}\n```" if source and cell.get("cell_type") == "code" else source
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        plain = data.get("text/plain") if isinstance(data, dict) else None
        printed = _joined(plain or (isinstance(output, dict) and output.get("text")))
        if printed:
            yield f"```\n{printed}\n```"


def _joined(value: object) -> str:
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str)).strip("\n")
