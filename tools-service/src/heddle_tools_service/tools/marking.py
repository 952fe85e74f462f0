"""Adds `success: false` to the details of failures. The prompts of models rely on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heddle_tools_service.sdk import ToolError


@contextmanager
def marked(**about: Any) -> Iterator[None]:  # noqa: ANN401 - any JSON value
    """Add `success: false` to the details of a failure in the block, and what it is `about`."""
    try:
        yield
    except ToolError as error:
        error.details = {**about, **error.details, "success": False}
        raise
