"""Checks the content of a rubric that a user saves."""

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from heddle_conversion.json_text import parse, same
from heddle_runtime.errors import InvalidRequestError, MalformedAssistantError, Violation
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

FIELD = "rubric.content_json"
LARGEST = 256 * 1024  # characters
_MOST_VIOLATIONS = 20
# PostgreSQL keeps no NUL, and the documented schema allows none.
_Characters = Annotated[str, Field(pattern="^[^\0]*$")]
_Text = Annotated[_Characters, Field(min_length=1)]


class _Part(BaseModel):
    """The base of the parts of a rubric. Unknown members are stored, and "3" is no number."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _Level(_Part):
    id: _Text
    score: float
    label: _Text
    description: _Characters


class _Criterion(_Part):
    id: _Text
    name: _Text
    description: _Characters
    weight: float = Field(ge=0)
    levels: list[_Level] = Field(min_length=2)


class _Content(_Part):
    title: _Text
    description: _Characters
    metadata: dict[str, Any] = Field(default_factory=dict)
    criteria: list[_Criterion] = Field(min_length=1)
    scoring_type: Literal["points", "percentage", "holistic", "single-point", "checklist"] = Field(
        alias="scoringType"
    )
    max_score: float = Field(alias="maxScore", gt=0)


def read(text: str) -> dict[str, Any]:
    """Parse the content of a request as a JSON object, valid or not.

    Raises:
        InvalidRequestError: It is not a JSON object, or is too large.
    """
    if len(text) > LARGEST:
        raise _refused(f"must have at most {LARGEST} characters")
    try:
        content = parse(text)
        json.dumps(content, ensure_ascii=False).encode()
    except MalformedAssistantError as error:
        raise _refused(*(each.description for each in error.violations)) from None
    except UnicodeEncodeError:
        raise _refused("holds half of a character (a lone surrogate)") from None
    return content


def check(content: dict[str, Any]) -> None:
    """Refuse content without the members of a rubric.

    Raises:
        InvalidRequestError: It is wrong; each violation says where.
    """
    try:
        _Content.model_validate(content)
    except ValidationError as error:
        violations = error.errors(include_input=False, include_url=False)[:_MOST_VIOLATIONS]
        faults = [
            Violation(f"{FIELD}.{_place(each['loc'])}", _problem(each)) for each in violations
        ]
        raise InvalidRequestError("The rubric is not valid.", faults) from None


def completed(content: dict[str, Any], identifier: str, created_at: int, now: int) -> str:
    """Return the text to store of content, with its identifier and times.

    Args:
        content: Checked.
        identifier: The rubric's.
        created_at: Seconds since 1970.
        now: Likewise.
    """
    times = {"createdAt": _written(created_at), "modifiedAt": _written(now)}
    metadata = content.get("metadata", {}) | times
    whole = {"rubricId": identifier} | content | {"rubricId": identifier, "metadata": metadata}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False)


def is_unchanged(content: dict[str, Any], text: str) -> bool:
    """Return whether the stored `text` has this content already."""
    try:
        return same(content, parse(text))
    except MalformedAssistantError:  # an imported rubric may hold anything
        return False


def _place(steps: tuple[int | str, ...]) -> str:
    written = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return "".join(written).removeprefix(".")


def _problem(error: ErrorDetails) -> str:
    match error["type"]:
        case "missing":
            return "is required"
        case "string_pattern_mismatch":
            return "must not contain a NUL character"
        case _:
            message = error["msg"].partition(" after validation")[0]
            return re.sub(r"^\w+ should ", "must ", message)


def _written(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _refused(*wrong: str) -> InvalidRequestError:
    violations = [Violation(FIELD, what) for what in wrong]
    return InvalidRequestError("The rubric is not valid.", violations)
