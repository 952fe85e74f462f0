"""Why metadata cannot be converted. Whoever meets one of these leaves the stored text alone."""

from heddle_runtime import errors
from heddle_runtime.errors import Violation


class MalformedMetadataError(errors.MalformedAssistantError):
    """The metadata is not a JSON object, or one that cannot be written again."""

    def __init__(self, what: str) -> None:
        message = f"The assistant's metadata {what}. It was not changed; mend it."
        super().__init__(message, [Violation("metadata", what)])


class NewerFormatError(errors.NewerFormatError):
    """The metadata is of a version that only a newer release understands."""

    def __init__(self, version: int, newest: int) -> None:
        what = f"has format version {version}; this release knows versions up to {newest}"
        message = f"The assistant's metadata {what}. It was not changed; update Heddle."
        super().__init__(message, [Violation("metadata", what)])
