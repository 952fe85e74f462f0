"""CSV and TSV: one table, a line for each row."""

import csv
import re
from io import StringIO
from itertools import islice

from heddle_knowledge.formats.blocks import Block, ParsedDocument, table_lines

_SEPARATORS = "\t;|,"  # the comma last: many languages write it in numbers
_DECLARED = re.compile(r"sep=([,;\t|])[\t;,|]*\n", re.IGNORECASE)
_LOOKED_AT = 20
# Documents are limited as a whole: a cell that an odd quotation mark makes large is text, too.
_LONGEST_CELL = 2**31 - 1


def read_rows(text: str, separator: str = "") -> ParsedDocument:
    """Read values in rows, the first of which names the columns.

    Args:
        text: The rows; cells in double quotes may have line breaks in them.
        separator: What stands between cells; empty: what most of the first lines have.
    """
    if declared := _DECLARED.match(text):  # as Excel writes and reads it
        text, separator = text[declared.end() :], declared[1]
    csv.field_size_limit(_LONGEST_CELL)
    first = list(islice(StringIO(text), _LOOKED_AT))
    likely = max(_SEPARATORS, key=lambda mark: sum(mark in line for line in first))
    rows = csv.reader(StringIO(text), delimiter=separator or likely)
    lines, header = table_lines(rows)
    return ParsedDocument("", (Block(lines, header=header),) if lines else ())
