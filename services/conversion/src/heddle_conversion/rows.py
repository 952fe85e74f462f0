"""Converting the metadata of one row, with errors that name the assistant."""

from typing import Any, Protocol

from heddle_runtime import errors

from heddle_conversion.columns import LegacyColumns
from heddle_conversion.contract_tools import text
from heddle_conversion.json_text import parse
from heddle_conversion.versions import Conversion, convert_checked


class ConvertibleRow(Protocol):
    """The columns that a conversion reads."""

    @property
    def id(self) -> int:
        """The number."""

    @property
    def metadata(self) -> str | None:
        """The stored text."""

    @property
    def legacy(self) -> LegacyColumns:
        """The columns that held a part of the configuration before version 2."""


def convert_row(row: ConvertibleRow) -> Conversion:
    """Return the metadata of a row in the newest format.

    Raises:
        MalformedAssistantError: It cannot be understood.
        NewerFormatError: It is of a newer format.
    """
    try:
        return convert_checked(parse(row.metadata), row.legacy)
    except errors.NewerFormatError as error:
        raise errors.NewerFormatError(*_named(row, error), assistant=str(row.id)) from error
    except errors.MalformedAssistantError as error:
        raise errors.MalformedAssistantError(*_named(row, error), assistant=str(row.id)) from error


def displayed_title(document: dict[str, Any]) -> str:
    """Return the title of a document as the database stores it for searches."""
    return text(document.get("title")).replace("\0", "")


def _named(
    row: ConvertibleRow, error: errors.HeddleError
) -> tuple[str, tuple[errors.Violation, ...]]:
    return f"Assistant {row.id} cannot be used. {error.message}", error.violations
