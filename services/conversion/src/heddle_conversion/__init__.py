"""Stored assistants in the format of today.

Pure functions: nothing here reads or writes a database. `parse` and `convert` bring a row's text
to version 2, `to_contract` makes it what services exchange.
"""

from heddle_conversion.columns import LegacyColumns
from heddle_conversion.contract import StoredColumns, from_contract, to_contract
from heddle_conversion.errors import MalformedMetadataError, NewerFormatError
from heddle_conversion.json_text import dump, parse
from heddle_conversion.rows import convert_row, displayed_title
from heddle_conversion.versions import VERSION_KEY, Conversion, convert, newest, version_of

__all__ = [
    "VERSION_KEY",
    "Conversion",
    "LegacyColumns",
    "MalformedMetadataError",
    "NewerFormatError",
    "StoredColumns",
    "convert",
    "convert_row",
    "displayed_title",
    "dump",
    "from_contract",
    "newest",
    "parse",
    "to_contract",
    "version_of",
]
