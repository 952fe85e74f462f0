"""LAMB's stored assistants in the format of today, and today's as LAMB's clients know them.

Pure functions: nothing here reads or writes a database. `parse` and `convert` bring a row's text
to version 2, `to_contract` makes it what services exchange, `legacy_view` and `legacy_edit` serve
clients that know version 1 only.
"""

from heddle_conversion.columns import LegacyColumns
from heddle_conversion.contract import StoredColumns, from_contract, to_contract
from heddle_conversion.errors import MalformedMetadataError, NewerFormatError
from heddle_conversion.followed_edit import FollowedEdit, LambMetadata, followed_edit
from heddle_conversion.json_text import dump, parse
from heddle_conversion.legacy_edit import legacy_edit, legacy_new
from heddle_conversion.legacy_view import legacy_columns, legacy_view
from heddle_conversion.rows import convert_row, displayed_title
from heddle_conversion.versions import VERSION_KEY, Conversion, convert, newest, version_of

__all__ = [
    "VERSION_KEY",
    "Conversion",
    "FollowedEdit",
    "LambMetadata",
    "LegacyColumns",
    "MalformedMetadataError",
    "NewerFormatError",
    "StoredColumns",
    "convert",
    "convert_row",
    "displayed_title",
    "dump",
    "followed_edit",
    "from_contract",
    "legacy_columns",
    "legacy_edit",
    "legacy_new",
    "legacy_view",
    "newest",
    "parse",
    "to_contract",
    "version_of",
]
