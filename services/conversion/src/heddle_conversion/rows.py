"""Converting the metadata of one row, with errors that name the assistant."""

from typing import Any

from heddle_runtime import errors

from heddle_conversion.columns import LegacyColumns
from heddle_conversion.contract_tools import text
from heddle_conversion.json_text import parse
from heddle_conversion.versions import Conversion, convert_checked


def convert_row(number: int, metadata: str | None, columns: LegacyColumns) -> Conversion:
    """Return the metadata of a row in the newest format.

    Args:
        number: The id of the row, for errors.
        metadata: The stored text.
        columns: The columns that held a part of the configuration before version 2.

    Raises:
        MalformedAssistantError: It cannot be understood.
        NewerFormatError: It is of a newer format.
    """
    try:
        return convert_checked(parse(metadata), columns)
    except errors.NewerFormatError as error:
        raise errors.NewerFormatError(*_named(number, error), assistant=str(number)) from error
    except errors.MalformedAssistantError as error:
        raise errors.MalformedAssistantError(
            *_named(number, error), assistant=str(number)
        ) from error


def displayed_title(document: dict[str, Any]) -> str:
    """Return the title of a document as the database stores it for searches."""
    return text(document.get("title")).replace("\0", "")


def _named(number: int, error: errors.HeddleError) -> tuple[str, tuple[errors.Violation, ...]]:
    return f"Assistant {number} cannot be used. {error.message}", error.violations
