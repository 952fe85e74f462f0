"""Metadata that changed here and in another installation, for what merges them."""

from typing import Any, NamedTuple

from heddle_conversion.columns import LegacyColumns


class RowMetadata(NamedTuple):
    """The metadata of a row and the columns that belong to them."""

    text: str | None
    columns: LegacyColumns


class MergedMetadata(NamedTuple):
    """The merged metadata of a row."""

    text: str | None
    document: dict[str, Any] | None
    """The parsed text in the newest format; None if the text is the other installation's."""
    lost: tuple[str, ...]
    """The fields that changed on both sides, of which only the other side's values are left."""
    is_merged: bool = False
    """Whether the document holds edits of Heddle, so that it is no mere migration."""
