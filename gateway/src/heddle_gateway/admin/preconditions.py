"""`If-None-Match: *`: a change that must create its object."""

from typing import Literal

from pydantic import BaseModel, Field

from heddle_gateway.routing import Call


class IfNoneMatch(BaseModel):
    """The header of a `PUT` that creates."""

    if_none_match: Literal["*"] | None = Field(
        default=None,
        alias="If-None-Match",
        description="With `*` the object must be new: if it exists, nothing is changed and the "
        "status is 409.",
    )


def is_for_new(api: Call) -> bool:
    """Return whether the object of a `PUT` must be new."""
    return b"if-none-match" in api.raw.headers and (api.raw.header("if-none-match").strip() == "*")
