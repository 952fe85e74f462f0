"""Merges metadata that changed here and in the followed installation."""

from collections.abc import Callable
from functools import cache

from heddle_conversion.merging import MergedMetadata, RowMetadata
from heddle_runtime.errors import NotSetUpError
from heddle_runtime.serving import installed as packages

Merge = Callable[[RowMetadata, RowMetadata | None, RowMetadata], MergedMetadata]
"""Receives what is stored here, what was applied last if that is known, and what is there now."""


@cache
def merge() -> Merge:
    """Return the function of the installed package, which knows the form of the other side."""
    merging: Merge
    for _, merging in packages.installed("heddle.assistants.following"):
        return merging
    raise NotSetUpError(
        "No package that merges metadata is installed beside the assistants service. Install one."
    )
